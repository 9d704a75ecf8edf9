import Foundation
import Pipelines
import Streams
import Testing

/// A pipelines directory of its own, removed with the value.
final class TemporaryPipelines {
    let path: String

    init(_ files: [String: String] = [:]) throws {
        path = FileManager.default.temporaryDirectory
            .appending(path: "weir-pipelines-\(UUID().uuidString)").path()
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true
        )
        for (name, text) in files { try write(text, to: name) }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Reads the directory while it is there.
    func read<Value>(_ body: (PipelineDirectory) throws -> Value) rethrows -> Value {
        try withExtendedLifetime(self) { try body(PipelineDirectory(path)) }
    }

    func write(_ text: String, to name: String) throws {
        try write(Data(text.utf8), to: name)
    }

    func write(_ bytes: Data, to name: String) throws {
        let url = URL(filePath: "\(path)/\(name)")
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try bytes.write(to: url)
    }

    /// What an error says, without the directory's own path.
    func words(_ error: ConfigurationError) -> String {
        error.description.replacing("\(path)/", with: "")
    }

    /// The words of the error that reading throws.
    func fault<Value>(
        _ read: (PipelineDirectory) throws(ConfigurationError) -> Value
    ) -> String? {
        defer { withExtendedLifetime(self) {} }
        do {
            _ = try read(PipelineDirectory(path))
            return nil
        } catch {
            return words(error)
        }
    }
}

extension PipelineDirectory {
    func bids() throws(ConfigurationError) -> StreamFile { try BidsFold.file(in: self) }
    func postbacks() throws(ConfigurationError) -> PostbackRules {
        try PostbacksFold.rules(in: self)
    }
    func storeNotifications() throws(ConfigurationError) -> StoreNotificationRules {
        try StoreNotificationsFold.rules(in: self)
    }
}
