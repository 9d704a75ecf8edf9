import EventLog
import Foundation
import KafkaLog
import Logging
import Synchronization
import TestKit
import Testing

@Suite("Kafka settings and secrets")
struct SecretTests {
    private static let brokers = ["127.0.0.1:9"]

    private func words(_ written: [String: String]) throws -> String {
        let failure = #expect(throws: LogError.self) {
            let settings = try KafkaSettings(brokers: Self.brokers, written: written)
            _ = try KafkaLog(settings, logger: .quiet)
        }
        return try #require(failure).description
    }

    @Test("A secret that is written out is refused, and not repeated")
    func literalSecrets() throws {
        for name in [
            "sasl.password", "sasl.oauthbearer.client.secret", "ssl.key.password", "ssl.key.pem",
            "ssl.keystore.password",
        ] {
            let text = try words([name: "s3cr3t"])
            #expect(text.contains(name) && text.contains("env:NAME or file:PATH"))
            #expect(!text.contains("s3cr3t"))
        }
    }

    @Test("Settings that Weir depends on are refused, saying why")
    func reserved() throws {
        for name in [
            "bootstrap.servers", "group.id", "group.instance.id", "enable.auto.commit",
            "auto.offset.reset", "enable.partition.eof", "enable.idempotence", "acks",
            "delivery.report.only.error", "transactional.id", "allow.auto.create.topics",
            "isolation.level",
        ] {
            let text = try words([name: "x"])
            #expect(text.hasPrefix("the Kafka setting \(name) is "), "\(text)")
            #expect(text.hasSuffix("remove it"), "\(text)")
        }
    }

    @Test("The isolation that Weir has may be written, and no other")
    func isolation() throws {
        _ = try KafkaSettings(brokers: Self.brokers, written: ["isolation.level": "read_committed"])
        let text = try words(["isolation.level": "read_uncommitted"])
        #expect(text.contains("isolation.level is always read_committed"), "\(text)")
    }

    @Test("Settings that librdkafka does not know, or values that it refuses, are named")
    func unknown() throws {
        #expect(try words(["sasl.pasword": "env:PATH"]).contains("sasl.pasword"))
        #expect(try words(["session.timeout.ms": "soon"]).contains("session.timeout.ms"))
        #expect(try words(["security.protocol": "TSL"]).contains("security.protocol"))
    }

    @Test("A fault of a setting names the line where it stands, in one line")
    func placed() throws {
        for (name, text) in [("sasl.passwort", "x"), ("session.timeout.ms", "10000000")] {
            let failure = #expect(throws: LogError.self) {
                _ = try KafkaLog(
                    KafkaSettings(
                        brokers: Self.brokers, written: [name: text],
                        locations: [name: "pipelines/kafka.yaml:3: settings.\(name)"]),
                    logger: .quiet)
            }
            let words = try #require(failure).description
            #expect(
                words.hasPrefix(
                    "pipelines/kafka.yaml:3: settings.\(name): the Kafka setting \(name) is "
                        + "invalid: "), "\(words)")
            #expect(words.split(whereSeparator: \.isNewline).count == 1, "\(words)")
        }
    }

    @Test("SASL without a mechanism, a name or a password is explained, with its place")
    func signingIn() throws {
        let failure = #expect(throws: LogError.self) {
            _ = try KafkaSettings(
                brokers: Self.brokers, written: ["security.protocol": "SASL_SSL"],
                locations: [
                    "security.protocol": "pipelines/kafka.yaml:3: settings.security.protocol"
                ])
        }
        #expect(
            failure?.description
                == "pipelines/kafka.yaml:3: settings.security.protocol: the Kafka setting security.protocol is SASL_SSL, "
                + "but sasl.mechanism is missing: add it with the mechanism of your cluster, for example "
                + "SCRAM-SHA-512 or PLAIN (GSSAPI for Kerberos)")
        let plain = ["security.protocol": "sasl_plaintext", "sasl.mechanisms": "plain"]
        #expect(
            try words(plain).contains(
                "sasl.mechanism is plain, but sasl.username and sasl.password are missing"))
        let named = plain.merging(["sasl.username": "weir"]) { $1 }
        #expect(try words(named).contains("sasl.password is missing: add it"))
        _ = try KafkaSettings(
            brokers: Self.brokers,
            written: ["security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI"])
        _ = try KafkaSettings(brokers: Self.brokers, written: ["security.protocol": "SSL"])
    }

    @Test("A variable and a file that are not there are named")
    func absent() throws {
        let variable = try words(["sasl.password": "env:WEIR_ABSENT"])
        #expect(variable.contains("names the variable WEIR_ABSENT, which is not set"))
        let file = try words(["sasl.password": "file:/absent/secret"])
        #expect(file.contains("names the file /absent/secret, which cannot be read"))
    }

    @Test("No secret stands in a log line or an error, whatever is logged")
    func secretsAreNotLogged() async throws {
        try await onThread {
            let secret = "s3cr3t-\(UUID().uuidString)"
            let files = try TemporaryDirectory()
            let path = try files.write("\(secret)\nsecond line\n", to: "secret")
            defer { withExtendedLifetime(files) {} }
            let cluster = try MockCluster()
            try cluster.createTopic("topic", partitionCount: 1)
            let lines = LoggedLines()
            let settings = try KafkaSettings(
                brokers: cluster.brokers,
                written: [
                    "debug": "all", "security.protocol": "sasl_plaintext",
                    "sasl.mechanisms": "PLAIN", "sasl.username": "user",
                    "sasl.password": "file:\(path)", "socket.timeout.ms": "10000",
                    "message.timeout.ms": "1500",
                ])
            let logger = Logger(label: "test") { _ in lines }
            let log = try KafkaLog(settings, logger: logger)
            // The mock cluster knows no passwords: whatever comes of it is in the log.
            let failure = #expect(throws: LogError.self) { try log.topics() }
            #expect(failure?.description.contains(secret) == false)
            #expect(failure?.description.contains("the brokers reject the connection: ") == true)
            let text = lines.text
            #expect(text.contains("sasl.password"))
            #expect(!text.contains(secret))
            #expect(!text.contains(Data(secret.utf8).base64EncodedString()))
        }
    }
}

/// Keeps what is logged, at every level.
private final class LoggedLines: LogHandler {
    private let lines = Mutex<[String]>([])

    var text: String { lines.withLock { $0.joined(separator: "\n") } }

    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) { lines.withLock { $0.append("\(event.message)") } }
}
