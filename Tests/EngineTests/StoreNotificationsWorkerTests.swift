import Engine
import EventLog
import Foundation
import Streams
import TestKit
import Testing

@Suite("weir-store-notifications")
struct StoreNotificationsWorkerTests {
    private let stream = "store-notifications"

    private func makePlace(batch: Int = 100) throws -> (Workplace, SampleNotifications) {
        let place = try Workplace()
        let samples = try SampleNotifications()
        try samples.configure(place, batch: batch)
        return (place, samples)
    }

    private func sum(_ measure: String, _ place: Workplace, data: String = "data") throws -> Int64 {
        try place.sum(measure, of: "store-notifications", stream: stream, data: data)
    }

    @Test(
        "A sale that counted before a restart is a duplicate after it, under whatever id it comes")
    func salesAcrossRuns() throws {
        let (place, samples) = try makePlace()
        func publish(_ type: String, _ subtype: String = "", uuid: String) throws {
            try place.publish(
                stream,
                SampleNotifications.record(
                    try samples.v2(type, subtype, uuid: uuid, transaction: 42, price: 9990)))
            try place.foldNotifications()
        }
        try publish("DID_RENEW", uuid: "a")
        try publish("DID_RENEW", uuid: "b")
        try publish("SUBSCRIBED", "RESUBSCRIBE", uuid: "c")
        try publish("CONSUMPTION_REQUEST", uuid: "d")
        try publish("CONSUMPTION_REQUEST", uuid: "e")
        #expect(try sum("renewals", place) == 1)
        #expect(try sum("resubscribes", place) == 0)
        #expect(try sum("consumption_requests", place) == 1)
        #expect(try sum("gross_micros", place) == 9_990_000)
        #expect(try place.outcome(.accepted, stream) == 2)
        #expect(try place.outcome(.duplicates, stream) == 3)
        try place.foldNotifications(data: "scratch")
        #expect(try place.contents(stream) == place.contents(stream, data: "scratch"))
    }

    @Test("A sale whose sum overflows leaves no memory: the same sale at another price counts")
    func overflowOfSale() throws {
        let (place, samples) = try makePlace()
        let most: Int64 = 9_223_372_036_854_775
        try place.publish(
            stream,
            [(1, most), (2, most), (2, 1)].enumerated().map { number, sale in
                SampleNotifications.record(
                    try samples.v2(
                        "DID_RENEW", uuid: "\(number)", transaction: sale.0, price: sale.1 - 1))
            })
        try place.foldNotifications()
        #expect(try place.outcome(.rejected, stream) == 1)
        #expect(try place.outcome(.accepted, stream) == 2)
        #expect(try sum("renewals", place) == 2)
    }

    @Test("A history of version 1 that is published again changes no number")
    func replayedHistory() throws {
        let (place, samples) = try makePlace()
        let records = (0..<40).map { number in
            SampleNotifications.record(
                samples.v1("CANCEL", transaction: number % 9, date: number % 4),
                type: SampleNotifications.typeV1)
        }
        try place.publish(stream, records)
        try place.foldNotifications()
        #expect(try sum("refunds", place) == 40)
        try place.publish(stream, records.reversed() + records)
        try place.foldNotifications()
        #expect(try sum("refunds", place) == 40)
    }

    @Test("A record whose sum would overflow is rejected alone, and leaves no memory behind")
    func overflowTakesBackMemory() throws {
        let (place, samples) = try makePlace()
        let most: Int64 = 9_223_372_036_854_775
        func record(
            _ type: String, _ uuid: String, _ transaction: Int, _ price: Int64 = 0
        ) throws -> OutgoingRecord {
            SampleNotifications.record(
                try samples.v2(type, uuid: uuid, transaction: transaction, price: price))
        }
        try place.publish(
            stream,
            [
                try record("TEST", "z", 9), try record("REFUND", "a", 1, most),
                try record("REFUND", "b", 2, most), try record("REFUND_REVERSED", "c", 1),
                // As if it had never been: neither its id nor its refund is remembered.
                try record("REFUND", "b", 2, most), try record("REFUND", "d", 3, most + 1),
                try record("REFUND_REVERSED", "e", 3), try record("REFUND", "d", 3, 5),
            ])
        var contents: [[String]] = []
        for size in [1, 2, 3, 1000] {
            try samples.configure(place, batch: size)
            let data = "data-\(size)"
            try place.foldNotifications(data: data)
            #expect(try place.refused(for: "overflow", stream, data: data).count == 2)
            #expect(try sum("refunded_micros", place, data: data) == most * 1000)
            #expect(try sum("refunds", place, data: data) == 3)
            contents.append(try place.contents(stream, data: data))
        }
        #expect(Set(contents).count == 1)
    }

    @Test(
        "A sum that falls below 64 bits between two records overflows in whatever batches they come"
    )
    func underflowBetweenRecords() throws {
        let (place, samples) = try makePlace()
        let most: Int64 = 9_223_372_036_854_775
        func record(_ type: String, _ transaction: Int, hour: Int) throws -> OutgoingRecord {
            let body = try samples.v2(
                type, uuid: "\(type) \(transaction)", transaction: transaction, price: most)
            return SampleNotifications.record(body, number: hour * 60)
        }
        try place.publish(
            stream,
            [
                try record("REFUND", 1, hour: 0), try record("REFUND", 2, hour: 1),
                try record("REFUND_REVERSED", 1, hour: 2),
                // The row stands at its lowest here, and the refund that follows comes too late.
                try record("REFUND_REVERSED", 2, hour: 2), try record("REFUND", 3, hour: 2),
                try record("REFUND_REVERSED", 2, hour: 2), try record("TEST", 4, hour: 2),
            ])
        var contents: [[String]] = []
        for size in [1, 2, 3, 4, 1000] {
            try samples.configure(place, batch: size)
            let data = "data-\(size)"
            try place.foldNotifications(data: data)
            #expect(try place.refused(for: "overflow", stream, data: data) == [3])
            contents.append(try place.contents(stream, data: data))
        }
        #expect(Set(contents).count == 1)
        #expect(try sum("refunds", place, data: "data-3") == 3)
    }

    @Test("A trial and a refund meet what follows them after a restart, and in a fold from scratch")
    func cohortsAcrossRuns() throws {
        let (place, samples) = try makePlace()
        func record(
            _ type: String, _ uuid: String, subtype: String = "", transaction: Int = 4,
            price: Int64 = 9990, date: Int
        ) throws -> OutgoingRecord {
            SampleNotifications.record(
                try samples.v2(
                    type, subtype, uuid: uuid, transaction: transaction, price: price, date: date,
                    cohort: 20_000))
        }
        func sums(_ measure: String, _ data: String = "data") throws -> [String: Int64] {
            var sums: [String: Int64] = [:]
            for age in ["0", "7", "14", "30"] {
                let sum = try place.sum(
                    measure, of: "cohorts", where: ["cohort": "2024-10-04", "age": age],
                    stream: stream, data: data)
                if sum != 0 { sums[age] = sum }
            }
            return sums
        }
        let records = [
            try record("SUBSCRIBED", "a", subtype: "INITIAL_BUY", price: 0, date: 0),
            try record("DID_RENEW", "b", transaction: 8, date: 7),
            try record("REFUND", "c", date: 8),
            try record("DID_RENEW", "d", transaction: 12, date: 14),
            try record("REFUND_REVERSED", "e", date: 30),
        ]
        for (index, record) in records.enumerated() {
            try place.publish(stream, record)
            try place.foldNotifications()
            #expect(try sums("trial_conversions") == (index < 1 ? [:] : ["7": 1]))
            #expect(
                try sums("refunded_micros") == (index == 2 || index == 3 ? ["14": 9_990_000] : [:]))
        }
        #expect(try sums("trials") == ["0": 1])
        #expect(try sums("refunds") == ["14": 1])
        #expect(try sums("gross_micros") == ["7": 9_990_000, "14": 9_990_000])
        try place.foldNotifications(data: "anew")
        #expect(try place.contents(stream, data: "anew") == place.contents(stream))
        #expect(try place.stores("anew").digest() == place.stores().digest())
        #expect(
            try place.integer("SELECT is_open FROM trial_lines", stream: stream) == 0)
    }

    @Test("A sum of a cohort that would overflow rejects the record, and leaves no memory behind")
    func cohortOverflow() throws {
        let (place, samples) = try makePlace()
        let most: Int64 = 9_223_372_036_854_775
        func record(
            _ type: String, _ number: Int, price: Int64, hour: Int
        ) throws -> OutgoingRecord {
            SampleNotifications.record(
                try samples.v2(
                    type, uuid: "\(hour)", transaction: number, price: price, cohort: 20_000),
                number: hour * 60)
        }
        // In hours of their own, so that no sum of store-notifications overflows.
        try place.publish(
            stream,
            [
                try record("DID_RENEW", 1, price: most, hour: 0),
                try record("SUBSCRIBED", 5, price: 0, hour: 1),
                try record("DID_RENEW", 25, price: most, hour: 2),
                try record("DID_RENEW", 9, price: 0, hour: 3),
                try record("DID_RENEW", 13, price: 0, hour: 4),
                try record("REFUND", 17, price: most, hour: 5),
                try record("REFUND", 21, price: most, hour: 6),
                try record("REFUND_REVERSED", 21, price: most, hour: 7),
                try record("REFUND_REVERSED", 17, price: most, hour: 8),
            ])
        var contents: [[String]] = []
        for size in [1, 2, 3, 1000] {
            try samples.configure(place, batch: size)
            let data = "data-\(size)"
            try place.foldNotifications(data: data)
            #expect(try place.refused(for: "overflow", stream, data: data) == [2, 6])
            func cohort(_ measure: String) throws -> Int64 {
                try place.sum(measure, of: "cohorts", stream: stream, data: data)
            }
            #expect(try cohort("gross_micros") == most * 1000)
            #expect(try cohort("renewals") == 3)
            #expect(try cohort("trial_conversions") == 0)
            #expect(try cohort("refunds") == 1)
            #expect(try cohort("refunded_micros") == 0)
            // The trial is still open: the renewal that was rejected took nothing.
            #expect(
                try place.integer("SELECT is_open FROM trial_lines", stream: stream, data: data)
                    == 1)
            contents.append(try place.contents(stream, data: data))
        }
        #expect(Set(contents).count == 1)
    }

    @Test("An id that is taken back because its sum overflows does not count for dedupe_max_ids")
    func overflowCountsNoID() throws {
        let (place, samples) = try makePlace()
        let most: Int64 = 9_223_372_036_854_775
        try place.publish(
            stream,
            try [("REFUND", 1), ("REFUND", 2), ("REFUND", 3), ("TEST", 4)].map {
                SampleNotifications.record(
                    try samples.v2($0.0, uuid: "\($0.1)", transaction: $0.1, price: most))
            })
        try samples.configure(place, batch: 2, more: "dedupe_max_ids: 3")
        try place.foldNotifications()
        #expect(try place.integer("SELECT count(*) FROM notification_ids", stream: stream) == 2)
        try samples.configure(place, batch: 2, more: "dedupe_max_ids: 2")
        #expect(throws: WorkerError.self) { try place.foldNotifications() }
    }

    @Test("Untrusted records are kept with their bytes, and not published as dead letters")
    func untrusted() throws {
        let (place, samples) = try makePlace()
        let forged = try samples.v2("REFUND", uuid: "a", transaction: 1, forged: true)
        try place.publish(
            stream, SampleNotifications.record(forged), SampleNotifications.record("{}"))
        try place.foldNotifications()
        let kept = try place.snapshot(stream) { try $0.refusal(partition: 0, offset: 0) }
        #expect(kept?.reason == "untrusted")
        #expect(kept?.value == Array(forged.utf8))
        #expect(try place.integer("SELECT count(*) FROM refunds", stream: stream) == 0)
        #expect(try place.integer("SELECT count(*) FROM notification_ids", stream: stream) == 0)
        #expect(try place.records("store-notifications.dlq").map(\.text) == ["{}"])
    }

    @Test("Another secret is another epoch, and no epoch holds a secret")
    func secretsAreNotStored() throws {
        let (place, samples) = try makePlace()
        func publish(_ transaction: Int, secret: String) throws {
            try place.publish(
                stream,
                SampleNotifications.record(
                    samples.v1("CANCEL", transaction: transaction, secret: secret),
                    type: SampleNotifications.typeV1))
        }
        try publish(1, secret: SampleNotifications.secret)
        try place.foldNotifications()
        try samples.configure(place, secret: "changed")
        try publish(3, secret: "changed")
        try publish(5, secret: SampleNotifications.secret)
        try place.foldNotifications()
        let epochs = try place.snapshot(stream) { try $0.epochs(of: 0).map(\.configuration.text) }
        #expect(epochs.count == 2)
        #expect(
            !epochs.contains { $0.contains(SampleNotifications.secret) || $0.contains("changed") })
        #expect(try place.outcome(.untrusted, stream) == 1)
        #expect(try place.outcome(.accepted, stream) == 2)
    }

    @Test("A file that holds no root certificate stops the worker at its line")
    func badRoot() throws {
        let (place, samples) = try makePlace()
        try place.publish(stream, SampleNotifications.record("{}"))
        try place.write("roots/test.pem", "no certificate")
        let error = #expect(throws: (any Error).self) { try place.foldNotifications() }
        #expect(
            "\(try #require(error))".contains(
                "store-notifications.yaml:3: roots[0]: contains no certificate"))
        _ = samples
    }
}
