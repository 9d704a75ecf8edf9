import ConfigurationValues
import Engine
import EventLog
import Foundation
import Streams
import TestKit
import Testing

@Suite("weir-postbacks")
struct PostbacksWorkerTests {
    private func makePlace(batch: Int = 100) throws -> Workplace {
        let place = try Workplace()
        try place.configurePostbacks("batch_records: \(batch)\n")
        return place
    }

    @Test("Decoded events of a campaign id and of a source identifier of one text stay apart")
    func kindsOfCampaignIDs() throws {
        let place = try makePlace()
        try place.publish(
            "postbacks", Samples.signed("t1", value: 1), Samples.signed("t2", value: 1),
            Samples.record(
                "postbacks", try Samples.postback("t3", sourceIdentifier: "42"), partition: 0))
        try place.foldPostbacks()
        for (isIdentifier, micros) in [(0, 10_000_000), (1, 100_000_000)] as [(Int, Int64)] {
            let sum = try place.sum(
                "revenue_max_micros", of: "decoded-events",
                where: ["campaign": "42", "has_source_identifier": "\(isIdentifier)"],
                stream: "postbacks")
            #expect(sum == micros)
        }
    }

    @Test("A forged copy that comes first does not block the real postback, nor reach a partner")
    func forgedCopyDoesNotBlock() throws {
        let place = try makePlace()
        try place.publish(
            "postbacks", Samples.signed("t1", forged: true), Samples.signed("t1"),
            Samples.signed("t1", value: 9), Samples.signed("t1", forged: true))
        try place.foldPostbacks()
        #expect(
            try place.sum(
                "postbacks", of: "postbacks", where: ["verdict": "valid"], stream: "postbacks")
                == 1)
        #expect(try place.outcome(.accepted, "postbacks") == 2)
        #expect(try place.outcome(.conflicts, "postbacks") == 1)
        #expect(try place.outcome(.duplicates, "postbacks") == 1)
        #expect(
            try place.sum("revenue_max_micros", of: "decoded-events", stream: "postbacks")
                == 100_000_000)
        let published = try place.records("partner-postbacks")
        #expect(published.count == 1)
        #expect(published.first?.text?.contains("\"revision\":1") == true)
    }

    @Test("Partner postbacks are published in outbox order with stable ids and the catalog's names")
    func partnerPostbacks() throws {
        let place = try makePlace()
        try place.write(
            "catalog.yaml",
            """
            networks: {su67r6k2v3.skadnetwork: ironSource}
            apps: {525463029: Sample App}
            campaigns:
              - {name: Spring, network: su67r6k2v3.skadnetwork, app: 525463029, campaign_id: 42}
              # No postback with a campaign id means this one.
              - {name: Autumn, network: su67r6k2v3.skadnetwork, app: 525463029, source_identifier: "1042"}

            """)
        try place.publish(
            "postbacks", try ["t2", "t1", "t3"].map { try Samples.signed($0, partition: 2) })
        try place.foldPostbacks()
        let published = try place.records("partner-postbacks")
        #expect(published.count == 3)
        for record in published {
            let document = try jsonObject(try #require(record.text))
            #expect(record.key == document["id"] as? String)
            #expect(record.headers["ce_type"] == "partner.postback")
            let campaign = try #require(document["campaign"] as? [String: Any])
            #expect(campaign["name"] as? String == "Spring")
            #expect(campaign["network"] as? String == "ironSource")
            let postback = try #require(document["postback"] as? [String: Any])
            #expect(postback["campaign_id"] as? Int == 42)
        }
        let states = try place.states("postbacks")
        #expect(states.map(\.outboxNext) == [0, 0, 3, 0])
        #expect(states.map(\.outboxEmitted) == [0, 0, 3, 0])
    }

    @Test("A store that is rebuilt emits nothing twice, and holds the same outbox")
    func rebuildEmitsNothing() throws {
        let place = try makePlace()
        try place.publish("postbacks", try Samples.postbacks(120, seed: 6))
        try place.foldPostbacks()
        let published = try place.records("partner-postbacks").count
        let letters = try place.records("postbacks.dlq").count
        #expect(published > 10)
        #expect(letters > 5)
        try place.foldPostbacks(data: "rebuilt")
        #expect(try place.records("partner-postbacks").count == published)
        #expect(try place.records("postbacks.dlq").count == letters)
        #expect(try place.contents("postbacks") == place.contents("postbacks", data: "rebuilt"))
    }

    @Test("A rebuild that is interrupted and begun again still emits nothing twice")
    func interruptedRebuild() throws {
        let place = try makePlace(batch: 1)
        try place.publish("postbacks", try (0..<30).map { try Samples.signed("t\($0)") })
        try place.foldPostbacks()
        try place.write(
            "postbacks.yaml", "batch_records: 1\ndedupe_max_ids: 5\n" + Samples.trustedKeys)
        // Stops at the bound after six postbacks, having told the log how far it is.
        #expect(throws: WorkerError.self) { try place.foldPostbacks(data: "half") }
        try place.write("postbacks.yaml", "batch_records: 1\n" + Samples.trustedKeys)
        try place.foldPostbacks(data: "again")
        #expect(try place.records("partner-postbacks").count == 30)
        let offsets = try place.openLog().reader(topic: "postbacks", group: "weir-postbacks")
            .committedOffsets()
        #expect(offsets[0] == 30)
    }

    @Test("A better copy of a postback does not count twice for dedupe_max_ids")
    func betterCopiesCountOnce() throws {
        let place = try makePlace(batch: 1)
        try place.publish(
            "postbacks", try (0..<6).map { try Samples.signed("t\($0 / 2)", forged: $0 % 2 == 0) })
        try place.write(
            "postbacks.yaml", "batch_records: 1\ndedupe_max_ids: 4\n" + Samples.trustedKeys)
        try place.foldPostbacks()
        #expect(try place.idCount("postbacks") == 3)
    }

    @Test("A sum of decoded revenue that would overflow rejects the one postback")
    func decodedOverflow() throws {
        let place = try makePlace()
        try place.write(
            Samples.modelFile,
            Samples.model.replacingOccurrences(of: "max: 100", with: "max: 9000000000000")
                .replacingOccurrences(of: "[0, 1, 5, 10, 50]", with: "[0, 8000000000000]"))
        try place.publish(
            "postbacks", try ["t1", "t2", "t3"].map { try Samples.signed($0, value: 1) })
        try place.foldPostbacks()
        #expect(try place.outcome(.accepted, "postbacks") == 1)
        #expect(try place.refused(for: "overflow", "postbacks").count == 2)
        #expect(try place.idCount("postbacks") == 1)
    }
}

@Suite("Changes of the configuration")
struct ConfigurationChangeTests {
    private func makeFoldedPlace() throws -> Workplace {
        let place = try Workplace()
        try place.write("postbacks.yaml", Samples.trustedKeys)
        try place.write(Samples.modelFile, Samples.model)
        try place.publishPostbacks("t1")
        try place.foldPostbacks()
        return place
    }

    @Test(
        "A past version of a model that was edited or removed is refused, with the words to replay")
    func editedPastVersion() throws {
        let place = try makeFoldedPlace()
        let before = try place.contents("postbacks")
        for text in [
            Samples.model.replacingOccurrences(of: "max: 100", with: "max: 200"),
            Samples.model.replacingOccurrences(of: "id: first", with: "id: other"),
            Samples.model.replacingOccurrences(
                of: "currency: USD", with: "currency: USD\n    lock_hours: {\"0\": 24}"),
        ] {
            try place.write(Samples.modelFile, text)
            let error = #expect(throws: WorkerError.self) { try place.foldPostbacks() }
            #expect("\(try #require(error))".contains("replay"))
        }
        #expect(try place.contents("postbacks") == before)
    }

    @Test(
        "A new version that takes effect before what is folded is refused; a later one is an epoch")
    func appendedVersion() throws {
        let place = try makeFoldedPlace()
        func appended(_ time: String) -> String {
            Samples.model + """
                  - id: second
                    effective_from: \(time)
                    currency: USD
                    fine: {fields: [{bits: [0, 0], kind: flags, flags: {"0": opened}}]}

                """
        }
        try place.write(Samples.modelFile, appended("2026-11-01T00:00:00Z"))
        let error = #expect(throws: WorkerError.self) { try place.foldPostbacks() }
        #expect("\(try #require(error))".contains("takes effect at 2026-11-01T00:00:00Z"))
        try place.write(Samples.modelFile, appended("2026-12-01T00:00:00Z"))
        try place.foldPostbacks()
        let epochs = try place.snapshot("postbacks") { try $0.epochs(of: 0) }
        #expect(epochs.map(\.fromOffset) == [0, 1])
    }

    @Test("The model of an app of which nothing was folded may begin in the past")
    func modelOfNewApp() throws {
        let place = try makeFoldedPlace()
        try place.write(
            "conversion-models/1176027022.yaml",
            Samples.model.replacingOccurrences(of: "525463029", with: "1176027022"))
        try place.foldPostbacks()
    }

    @Test("Names and delivery settings are not part of what the fold depends on")
    func namesDoNotCount() throws {
        let place = try makeFoldedPlace()
        try place.write("catalog.yaml", "apps: {525463029: Renamed}\n")
        try place.foldPostbacks()
        #expect(try place.integer("SELECT count(*) FROM epochs", stream: "postbacks") == 4)
    }

    @Test("A partner's windows are an epoch; a file without them has the text that it always had")
    func windows() throws {
        let place = try Workplace()
        try place.write("postbacks.yaml", Samples.trustedKeys)
        try place.write("partners/acme.yaml", Samples.partner)
        try place.publish("postbacks", try Samples.postbacks(20, seed: 3))
        try place.foldPostbacks()
        let texts = try place.texts(
            "SELECT DISTINCT configuration FROM epochs", stream: "postbacks")
        #expect(texts.count == 1 && texts.allSatisfy { !$0.contains("windows") })
        try place.write("partners/acme.yaml", Samples.partner + "\nfilter: {windows: [2, 0]}\n")
        try place.publish("postbacks", try Samples.postbacks(20, seed: 4))
        try place.foldPostbacks()
        let later = try place.texts(
            "SELECT DISTINCT configuration FROM epochs", stream: "postbacks")
        #expect(later.count == 2 && later.contains { $0.contains("\"windows\":[0,2]") })
    }
}

@Suite("Two installations on one log")
struct SharedClusterTests {
    @Test("publish to topics of their own, and neither takes the other's documents for published")
    func documents() throws {
        let place = try Workplace()
        func configure(_ directory: String, _ postbacks: String) throws {
            try place.write("\(directory)postbacks.yaml", postbacks + Samples.trustedKeys)
            try place.write("\(directory)conversion-models/525463029.yaml", Samples.model)
            try place.write("\(directory)partners/acme.yaml", Samples.partner)
        }
        try configure("", "")
        try configure("second/", "group: second-postbacks\n")
        try place.write("second/partner-postbacks.yaml", "topic: second.partner-postbacks\n")
        try place.publish("postbacks", try (0..<5).map { try Samples.signed("t\($0)") })
        try place.foldPostbacks()
        try place.fold(
            "postbacks", place.options(data: "second", pipelines: place.pipelines + "/second"))
        let first = try place.records("partner-postbacks")
        let second = try place.records("second.partner-postbacks")
        #expect(first.count == 5)
        #expect(second.map(\.value) == first.map(\.value))
        let log = try place.openLog()
        for group in ["weir-postbacks", "second-postbacks"] {
            let reader = try log.reader(topic: "postbacks", group: group)
            #expect(try reader.committedOffsets()[0] == 5, "\(group)")
        }
    }

    @Test(
        "a name that is none is refused with its line",
        arguments: [
            ("group: \"\"\n", "postbacks.yaml:1: group: is not a name of a group"),
            ("batch_records: 1\ngroup: a b\n", "postbacks.yaml:2: group: is not a name of a group"),
            ("groups: a\n", "postbacks.yaml:1: groups: unknown key"),
        ])
    func badNames(_ text: String, _ words: String) throws {
        let place = try Workplace()
        try place.write("postbacks.yaml", text)
        try place.publish("postbacks", [])
        let error = #expect(throws: (any Error).self) { try place.foldPostbacks() }
        #expect("\(try #require(error))".contains(words), "\(String(describing: error))")
    }
}
