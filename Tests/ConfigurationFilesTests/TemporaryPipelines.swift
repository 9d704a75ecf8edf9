import ConfigurationFiles
import ConfigurationValues
import Foundation
import Streams
import TestKit
import Testing

/// A pipelines directory of its own, removed with the value.
final class TemporaryPipelines {
    private let files: TemporaryDirectory
    var path: String { files.path }

    init(_ files: [String: String] = [:]) throws {
        self.files = try TemporaryDirectory()
        for (name, text) in files { try write(text, to: name) }
    }

    /// Reads the directory while it is there.
    func read<Value>(_ body: (PipelineDirectory) throws -> Value) rethrows -> Value {
        try withExtendedLifetime(self) { try body(PipelineDirectory(path)) }
    }

    func write(_ text: String, to name: String) throws { try files.write(text, to: name) }

    func write(_ bytes: Data, to name: String) throws { try files.write(bytes, to: name) }

    /// What an error says, without the directory's own path.
    func words(_ error: ConfigurationError) -> String {
        error.description.replacing("\(path)/", with: "")
    }

    /// The words of the error that reading throws.
    func fault<Value>(_ read: (PipelineDirectory) throws(ConfigurationError) -> Value) -> String? {
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
    func postbacks() throws(ConfigurationError) -> PostbacksRules {
        try PostbacksFold.rules(in: self)
    }
    func storeNotifications() throws(ConfigurationError) -> StoreNotificationsRules {
        try StoreNotificationsFold.rules(in: self)
    }
}
