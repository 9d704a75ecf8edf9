import ConfigurationFiles
import ConfigurationValues
import Streams
import TestKit

@testable import Deliveries
@testable import HTTPClient

/// A pipelines directory with partners; removed with the value.
final class PartnerFiles {
    private let files: TemporaryDirectory
    var path: String { files.path }

    init() throws {
        files = try TemporaryDirectory()
        try write("partner-postbacks.yaml", "commit_interval_ms: 5\n")
    }

    /// A directory with one partner.
    convenience init(_ delivery: String, name: String = "acme") throws {
        try self.init()
        try add(name, delivery)
    }

    /// Adds a partner that is sent everything; `delivery` is the mapping's lines, without indentation.
    func add(_ name: String, _ delivery: String) throws {
        let lines = delivery.split(separator: "\n", omittingEmptySubsequences: false)
        try write(
            "partners/\(name).yaml",
            "name: \(name)\ntrust: [valid]\ndelivery:\n" + lines.map { "  \($0)\n" }.joined())
    }

    func write(_ name: String, _ text: String) throws { try files.write(text, to: name) }

    func partners() throws -> [Partner] { try PipelineDirectory(path).partners() }

    func routes() throws -> [PartnerRoute] {
        try partners().filter { !$0.delivery.isOff }.map { try PartnerRoute($0, directory: path) }
    }

    /// The request for a document to the only partner.
    func request(_ document: String, nowMilliseconds: Int64 = 0) throws -> OutgoingRequest? {
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
