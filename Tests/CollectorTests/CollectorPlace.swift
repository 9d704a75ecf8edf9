import EventLog
import Foundation
import Logging
import Monitoring
import Pipelines
import Streams
import Testing

@testable import Collector

/// A collector over an embedded log in a directory of its own, removed with the value.
final class CollectorPlace: Sendable {
    static let secret = "0123456789abcdef0123456789abcdef"
    static let producerKey = "a-key-of-a-producer"

    let path = NSTemporaryDirectory() + "weir-collector-\(UUID().uuidString)"
    let log: EmbeddedLog
    let collector: Collector

    var requests: Requests { Requests(port: collector.address.port) }
    var port: UInt16 { collector.address.port }

    /// Starts a collector; `change` changes its settings, `more` adds routes, and `wrap` puts another
    /// log around the embedded one.
    init(
        yaml: String = "",
        change: (inout CollectorSettings) -> Void = { _ in },
        more: [CollectorRoute] = [],
        wrap: (EmbeddedLog) -> any LogBackend = { $0 }
    ) throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
        try Self.write(Self.secret + "\n", to: path + "/token-k1")
        try Self.write(String(Self.secret.reversed()) + "\n", to: path + "/token-k2")
        try Self.write(Self.configuration + yaml, to: path + "/collector.yaml")
        log = try EmbeddedLog(path: path + "/log.sqlite", mode: .create)
        try CollectorTopics.createMissing(in: log, logger: Logger(label: "test"))
        var settings = try CollectorSettings(
            PipelineDirectory(path).collector(),
            tokenLifetimes: TokenLifetimes(PipelineDirectory(path)),
            listen: ListenAddress(host: "127.0.0.1", port: 0))
        settings.threads = 1
        change(&settings)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        collector = try Collector(
            settings, log: Lent.lend(wrap(log)), registry: nil, logger: logger, more: more)
    }

    deinit {
        collector.stop()
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The keys that tokens are signed with.
    var tokenKeys: TokenKeys {
        get throws { TokenKeys(try tokenKeysOfFile) }
    }

    /// The keys that the configuration names.
    var tokenKeysOfFile: [CollectorPipeline.TokenKey] {
        get throws { try PipelineDirectory(path).collector().tokenKeys }
    }

    /// The records of a topic, partition by partition.
    func records(_ topic: String) throws -> [StoredRecord] {
        try StoredRecord.all(of: topic, in: log)
    }

    static let slowKey = "a-slow-key"

    /// Of the keys it has the SHA-256.
    private static let configuration = """
        keys:
          - name: tests
            sha256: 65cd6ab3ce77a961cc1085aa6c80d096defa6e895f8c3cc3b25954b3937e8777
            topics: [bids, impressions, overlay-clicks]
          - name: slow
            sha256: f251049599972719a405aa15d6d1fa6cb810a340f5b33fb0b417172eae17fb31
            topics: [bids]
            requests_per_second: 2
        token_keys:
          - {id: k1, file: token-k1}
          - {id: k2, file: token-k2}

        """

    private static func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }
}

/// Hands a log over to a collector, which uses it alone from then on.
enum Lent {
    /// The tests only read by the log meanwhile, and what they read by is safe to share.
    static func lend(_ log: any LogBackend) -> sending any LogBackend {
        nonisolated(unsafe) let log = log
        return log
    }
}
