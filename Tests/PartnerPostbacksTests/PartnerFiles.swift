import Foundation
import Pipelines
import Streams

@testable import PartnerPostbacks

/// A pipelines directory with partners; removed with the value.
final class PartnerFiles {
    let path = NSTemporaryDirectory() + "weir-partners-\(UUID().uuidString)"

    init() throws {
        try write("partner-postbacks.yaml", "commit_interval_ms: 5\n")
    }

    /// A directory with one partner.
    convenience init(_ delivery: String, name: String = "acme") throws {
        try self.init()
        try add(name, delivery)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Adds a partner that is sent everything; `delivery` is the mapping's lines, without indentation.
    func add(_ name: String, _ delivery: String) throws {
        let lines = delivery.split(separator: "\n", omittingEmptySubsequences: false)
        try write(
            "partners/\(name).yaml",
            "name: \(name)\ntrust: [valid]\ndelivery:\n"
                + lines.map { "  \($0)\n" }.joined())
    }

    func write(_ name: String, _ text: String) throws {
        let file = path + "/" + name
        try FileManager.default.createDirectory(
            atPath: (file as NSString).deletingLastPathComponent,
            withIntermediateDirectories: true)
        try text.write(toFile: file, atomically: true, encoding: .utf8)
    }

    func partners() throws -> [Partner] {
        try PipelineDirectory(path).partners()
    }

    func routes() throws -> [PartnerRoute] {
        try partners().filter { !$0.delivery.isOff }.map { try PartnerRoute($0, directory: path) }
    }

    /// The request for a document to the only partner.
    func request(_ document: String, nowMilliseconds: Int64 = 0) throws -> PartnerRequest? {
        try routes().first?.request(Documents.read(document), nowMilliseconds: nowMilliseconds)
    }

    /// What is wrong with the files, without the directory's path; nil when nothing is.
    func fault() -> String? {
        do {
            _ = try routes()
            return nil
        } catch {
            return "\(error)".replacing("\(path)/", with: "")
        }
    }
}
