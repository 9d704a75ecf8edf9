import ConfigurationValues
import Crypto
import Foundation
import Streams
import TestKit
import Testing

@Suite("Files of the streams")
struct StreamFileTests {
    private func bids(_ text: String) throws -> StreamFile {
        try TemporaryPipelines(["bids.yaml": text]).read { try $0.bids() }
    }

    private func bidsFault(_ text: String) throws -> String? {
        try TemporaryPipelines(["bids.yaml": text]).fault { dir throws(ConfigurationError) in
            try dir.bids()
        }
    }

    private func postbacksFault(_ text: String) throws -> String? {
        try TemporaryPipelines(["postbacks.yaml": text]).fault { dir throws(ConfigurationError) in
            try dir.postbacks()
        }
    }

    @Test(
        "a file without keys has every default", arguments: ["", "# nothing\n", "{}", "---\n{}\n"])
    func defaults(text: String) throws {
        let bids = try bids(text)
        #expect(bids.settings.topic == "bids")
        #expect(bids.settings.batchRecords == 100_000)
        #expect(bids.settings.commitIntervalMilliseconds == 200)
        #expect(bids.settings.maxRecordBytes == 1_048_576)
        #expect(bids.settings.dedupeMaxIDs == nil)
        #expect(bids.settings.kafka == [:])
        #expect(bids.dedupeWindowSeconds == 3600)
        for stream in allStreams {
            let file = try TemporaryPipelines(["\(stream.streamName).yaml": text]).read {
                try stream.file(in: $0)
            }
            #expect(file.settings.topic == stream.streamName)
            #expect(file.settings.group == stream.programName)
        }
        let seconds = allStreams.map { $0.defaultWindowSeconds }
        #expect(seconds == [3600, 604_800, 604_800, nil, nil, 604_800, nil])
        let postbacks = try TemporaryPipelines(["postbacks.yaml": text]).read { try $0.postbacks() }
        #expect(!postbacks.trustsDevelopment)
        #expect(postbacks.productionKeys == [])
    }

    @Test("every key is read, and Kafka's settings are handed on as written")
    func everyKey() throws {
        let bids = try bids(
            """
            topic: bids.eu-1
            batch_records: 500
            commit_interval_ms: 50
            dedupe_window_seconds: 0
            dedupe_max_ids: 9000000000
            broker_patience_seconds: 30
            max_record_bytes: 2048
            kafka:
              fetch.max.bytes: 0010
              enable.partition.eof: false
              "sasl.password": 'null'
            """
        )
        #expect(bids.settings.topic == "bids.eu-1")
        #expect(bids.settings.batchRecords == 500)
        #expect(bids.settings.commitIntervalMilliseconds == 50)
        #expect(bids.settings.dedupeMaxIDs == 9_000_000_000)
        #expect(bids.settings.brokerPatienceSeconds == 30)
        #expect(bids.settings.maxRecordBytes == 2048)
        #expect(bids.dedupeWindowSeconds == 0)
        #expect(
            bids.settings.kafka == [
                "fetch.max.bytes": "0010", "enable.partition.eof": "false",
                "sasl.password": "null",
            ]
        )
        let location = try #require(bids.settings.kafkaLocations["sasl.password"])
        #expect(location.hasSuffix("bids.yaml:11: kafka.sasl.password"), "\(location)")
    }

    @Test("trusted keys are read, and what is no key is a fault at its line")
    func trustedKeys() throws {
        let key = P256.Signing.PrivateKey().publicKey.derRepresentation.base64EncodedString()
        func file(_ production: String, _ kit: String) -> String {
            """
            trust_development: true
            trusted_keys:
              production:
                - \(key)
                - \(production)
              development: [\(key)]
              adattributionkit:
                - {kid: some/1, key: \(key), verdict: development}
                - kid: some/2
                  key: \(kit)
                  verdict: valid
            """
        }
        let postbacks = try TemporaryPipelines(["postbacks.yaml": file(key, key)]).read {
            try $0.postbacks()
        }
        #expect(postbacks.trustsDevelopment)
        #expect(postbacks.productionKeys == [key, key])
        #expect(postbacks.developmentKeys == [key])
        #expect(postbacks.adAttributionKitKeys.map(\.kid) == ["some/1", "some/2"])
        #expect(postbacks.adAttributionKitKeys.map(\.verdict) == [.development, .valid])
        #expect(
            try postbacksFault(file("BBBB", key))?.hasPrefix(
                "postbacks.yaml:5: trusted_keys.production[1]: is not a P-192 or P-256") == true)
        #expect(
            try postbacksFault(file(key, "EEEE"))?.hasPrefix(
                "postbacks.yaml:10: trusted_keys.adattributionkit[1].key: is not a P-256") == true)
    }

    @Test(
        "a fault in bids.yaml names file, line, key and what to do, in one line",
        arguments: FaultCase.all("bids"))
    func bidsFaults(_ wrong: FaultCase) throws {
        #expect(try bidsFault(wrong.text) == wrong.explanation)
    }

    @Test(
        "numbers are whole, in plain digits, without leading zeros, within their bounds",
        arguments: [
            ("batch_records", "1", "1000000", ["0", "1000001"]),
            ("commit_interval_ms", "1", "60000", ["0", "60001"]),
            ("dedupe_window_seconds", "0", "31622400", ["-1", "31622401"]),
            ("dedupe_max_ids", "1", "1000000000000", ["0", "1000000000001"]),
            ("broker_patience_seconds", "0", "86400", ["-1", "86401"]),
            ("max_record_bytes", "1", "1048576", ["0", "1048577"]),
        ])
    func bounds(key: String, least: String, most: String, outside: [String]) throws {
        for number in [least, most] { #expect(try bidsFault("\(key): \(number)") == nil) }
        let malformed = [
            "5.0", "5e3", "0o17", "0x1F", "017", "+5", "1_000", "true", "''", "~", "\"5\"", "'5'",
            "!!str 5",
        ]
        for number in outside + malformed + ["99999999999999999999"] {
            let fault = try #require(try bidsFault("\(key): \(number)"), "\(key): \(number)")
            #expect(fault.hasPrefix("bids.yaml:1: \(key): "))
        }
        #expect(
            try bidsFault("\(key): 017") == "bids.yaml:1: \(key): '017' starts with 0:"
                + " write the number without leading zeros")
        #expect(
            try bidsFault("\(key): \"17\"")
                == "bids.yaml:1: \(key): must be a whole number, but is the text '17':"
                + " remove the quotes or the tag")
    }

    @Test("booleans are true and false and nothing else")
    func booleans() throws {
        for word in ["yes", "True", "1", "on", "~", "[true]", "'true'"] {
            let fault = try #require(try postbacksFault("trust_development: \(word)"))
            #expect(
                fault.hasPrefix("postbacks.yaml:1: trust_development: must be true or false, but"))
        }
        #expect(try postbacksFault("trust_development: false") == nil)
    }

    @Test("topics have names that Kafka allows")
    func topics() throws {
        for name in ["''", "a b", "..", ".", "ä", "a/b", String(repeating: "a", count: 250)] {
            #expect(
                try bidsFault("topic: \(name)")?.hasPrefix(
                    "bids.yaml:1: topic: is not a name of a topic")
                    == true)
        }
        #expect(try bidsFault("topic: " + String(repeating: "a", count: 249)) == nil)
    }

    @Test("a fault in postbacks.yaml names its place", arguments: FaultCase.all("postbacks"))
    func postbacksFaults(_ wrong: FaultCase) throws {
        #expect(try postbacksFault(wrong.text) == wrong.explanation)
    }

    @Test(
        "what is not YAML is reported with its line",
        arguments: [
            ("topic: a\nkafka: {\n", 3), ("topic: a\n\tb: c\n", 2), ("a: b: c\n", 1),
            ("topic: a\n---\ntopic: b\n", 2), ("topic: *nothing\n", 1), ("topic: a\nb: \u{7}\n", 2),
        ])
    func syntax(text: String, line: Int) throws {
        let fault = try #require(try bidsFault(text))
        #expect(fault.hasPrefix("bids.yaml:\(line): not YAML: "), "\(fault)")
        #expect(!fault.contains("\n"))
    }

    @Test("what is too deep or too many is said in words that are of the file")
    func syntaxWords() throws {
        let deep = String(repeating: "[", count: 2000) + String(repeating: "]", count: 2000)
        #expect(
            try bidsFault("topic: " + deep)
                == "bids.yaml:1: not YAML: lists or mappings are nested too deep; correct it here"
        )
        #expect(
            try bidsFault("topic: a\n---\ntopic: b\n")
                == "bids.yaml:2: not YAML: a second document begins (---), but a file has one document;"
                + " correct it here")
    }

    @Test("bytes that are not UTF-8 are refused")
    func notUTF8() throws {
        let pipelines = try TemporaryPipelines()
        try pipelines.write(Data([0x74, 0x3A, 0x20, 0xFF]), to: "bids.yaml")
        let fault = pipelines.fault { directory throws(ConfigurationError) in try directory.bids() }
        #expect(fault == "bids.yaml: is not UTF-8: save it as UTF-8")
    }
}
