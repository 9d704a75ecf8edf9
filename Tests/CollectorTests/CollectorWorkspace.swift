import ConfigurationFiles
import ConfigurationValues
import ConversionValues
import EmbeddedLog
import EventLog
import GRDB
import Logging
import Monitoring
import Streams
import TestKit
import Testing

@testable import Collector
@testable import Tokens

/// A collector over an embedded log in a directory of its own, removed with the value.
final class CollectorWorkspace: Sendable {
    static let secret = "0123456789abcdef0123456789abcdef"
    static let producerKey = "a-key-of-a-producer"

    private let files: TemporaryDirectory
    var path: String { files.path }

    let log: EmbeddedLog
    let collector: Collector

    var requests: Requests { Requests(port: collector.address.port) }
    var port: UInt16 { collector.address.port }

    /// Starts a collector that counts in `metrics`; `change` changes its settings, `more` adds routes, and `wrap` puts
    /// another log around the embedded one.
    init(
        yaml: String = "", metrics: MetricRegistry? = nil,
        change: (inout CollectorSettings) -> Void = { _ in },
        more: [CollectorRoute] = [], wrap: (EmbeddedLog) -> any LogBackend = { $0 }
    ) throws {
        files = try TemporaryDirectory()
        let path = files.path
        try files.write(Self.secret + "\n", to: "token-k1")
        try files.write(String(Self.secret.reversed()) + "\n", to: "token-k2")
        try files.write(Self.configuration + yaml, to: "collector.yaml")
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
            settings, log: Lent.lend(wrap(log)), metrics: metrics, logger: logger, more: more)
    }

    deinit { collector.stop() }

    var tokenKeys: TokenKeys { get throws { TokenKeys(try tokenKeysOfFile) } }

    var tokenKeysOfFile: [CollectorPipeline.TokenKey] {
        get throws { try PipelineDirectory(path).collector().tokenKeys }
    }

    func records(_ topic: String) throws -> [ReadRecord] { try log.records(of: topic) }

    func send(
        _ method: String, _ target: String, headers: [String: String] = [:], body: [UInt8]? = nil
    ) throws -> Answer { try requests.send(method, target, headers: headers, body: body) }

    func get(_ target: String, headers: [String: String] = [:]) throws -> Answer {
        try requests.get(target, headers: headers)
    }

    /// Posts a body, by default as JSON.
    func post(
        _ target: String, _ body: String, type: String? = "application/json",
        headers: [String: String] = [:]
    ) throws -> Answer { try requests.post(target, body, type: type, headers: headers) }

    static let slowKey = "a-slow-key"

    /// Of the keys it has the SHA-256.
    private static let configuration = """
        keys:
          - name: tests
            sha256: 65cd6ab3ce77a961cc1085aa6c80d096defa6e895f8c3cc3b25954b3937e8777
            topics: [bids, impressions, overlay-clicks, costs]
          - name: slow
            sha256: f251049599972719a405aa15d6d1fa6cb810a340f5b33fb0b417172eae17fb31
            topics: [bids]
            requests_per_second: 2
        token_keys:
          - {id: k1, file: token-k1}
          - {id: k2, file: token-k2}

        """

}

/// Hands a log over to a collector, which uses it alone from then on.
enum Lent {
    /// The tests only read by the log meanwhile, and what they read by is safe to share.
    static func lend(_ log: any LogBackend) -> sending any LogBackend {
        nonisolated(unsafe) let log = log
        return log
    }
}

/// What tells installs their values by the models that Weir ships, with a log in a directory of its own.
final class ConversionWorkspace {
    private let files: TemporaryDirectory
    var path: String { files.path }

    let log: EmbeddedLog
    let service: ConversionService
    let routes: [CollectorRoute]

    /// `wrap` puts another log around the service's own.
    init(deadlineSeconds: Double = 10, wrap: (EmbeddedLog) -> any LogBackend = { $0 }) throws {
        files = try TemporaryDirectory()
        let path = files.path
        log = try EmbeddedLog(path: path + "/log.sqlite", mode: .create)
        try log.createTopic("conversion-updates", partitionCount: 4)
        let apps = try ConversionApps(PipelineDirectory(Repository.path("pipelines")))
        service = try ConversionService(
            log: Lent.lend(wrap(EmbeddedLog(path: path + "/log.sqlite", mode: .existing))),
            storePath: path + "/conversions.sqlite", apps: apps, deadlineSeconds: deadlineSeconds)
        routes = ConversionRoutes(service: service, apps: apps).routes
    }

    /// Does this while another program keeps the log locked.
    func whileLogIsLocked(_ body: () throws -> Void) throws {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: path + "/log.sqlite", configuration: configuration)
        try other.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
        defer {
            try? other.inDatabase { try $0.execute(sql: "ROLLBACK") }
            try? other.close()
        }
        try body()
    }

    deinit { service.stop() }
}
