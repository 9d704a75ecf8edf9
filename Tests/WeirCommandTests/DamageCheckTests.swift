import DatabaseFiles
import Deliveries
import EmbeddedLog
import Engine
import EventLog
import Foundation
import GRDB
import Program
import Reports
import Store
import Streams
import TestKit
import Testing

@testable import weir

@Suite("What check says of damage")
struct DamageCheckTests {
    private let place: TemporaryDirectory
    private let log: EmbeddedLog

    /// A log with 300 documents for a partner that is not configured, all of them held in deliveries.
    init() throws {
        place = try TemporaryDirectory()
        log = try place.log("partner-postbacks", partitions: 2)
        try log.writer().append(
            (0..<300).map { number in
                let id = "\(number)".padding(toLength: 32, withPad: "a", startingAt: 0)
                let filling = String(repeating: "\(number) ", count: 60)
                return OutgoingRecord(
                    topic: "partner-postbacks", partition: 0, timestampMilliseconds: 1000, key: nil,
                    value: Array(
                        #"{"id":"\#(id)","revision":1,"partner":"none","postback":{"filling":"\#(filling)"}}"#
                            .utf8))
            })
        try place.write("commit_interval_ms: 5\n", to: "partner-postbacks.yaml")
        try PartnerPostbacksWorker.work(
            WorkerOptions(
                log: .sqlite(path: place.path + "/log.sqlite"), data: place.path,
                pipelines: place.path, untilEnd: true), stop: StopSignal())
    }

    private func check() throws -> String {
        var report = CheckReport()
        _ = try PageCheck(
            dataDirectories: [place.path], logAddress: "sqlite:\(place.path)/log.sqlite"
        ).run(into: &report)
        return report.text.replacing(place.path, with: "DIR")
    }

    @Test("files that are whole are said to be, with how many records were read")
    func whole() throws {
        #expect(
            try check()
                == "ok: all pages of 2 files, and 300 records of the log are undamaged\n")
    }

    @Test("a store that was emptied is damaged, in the words of its worker")
    func emptiedStore() throws {
        try place.write("", to: "bids.sqlite")
        let words = "\(StoreError.emptiedStore(path: "DIR/bids.sqlite"))"
        #expect(try check() == "wrong: \(words)\n")
        var report = CheckReport()
        try #require(try StoreCheck("bids", in: place.path)).run(nil, topic: "bids", into: &report)
        #expect(report.text.replacing(place.path, with: "DIR") == "wrong: \(words)\n")
    }

    @Test("damaged deliveries give the same rows or an error, and each change is found")
    func deliveries() throws {
        let path = DeliveryStore.path(in: place.path)
        let read = {
            try DeliveryStore(existing: path).deliveries(partner: nil, state: nil, limit: 1000)
                .map { "\($0)" }
        }
        let expected = try read()
        #expect(expected.count == 300)
        var refused = 0
        try DamagedBytes.each(100, in: path, seed: 1) { place in
            do { #expect(try read() == expected, "byte \(place)") } catch {
                #expect("\(error)".contains(" is damaged ("), "byte \(place): \(error)")
                refused += 1
            }
        }
        #expect(refused > 50)
        try DamagedBytes.each(40, in: path, seed: 2) { _ in
            let words = try check()
            #expect(words.hasPrefix("wrong: DIR/deliveries.sqlite is damaged ("), "\(words)")
            #expect(words.contains("damaged-file.md"))
        }
    }

    @Test(
        "a store that contradicts itself is named by check, backup and its worker, and not by lag")
    func contradiction() throws {
        try log.createTopic("bids", partitionCount: 1)
        try log.writer().append(
            (0..<3).map { _ in OutgoingRecord(topic: "bids", key: nil, value: [0x7B]) })
        try place.write("batch_records: 100\n", to: "bids.yaml")
        func fold() throws {
            try BidsFold.work(
                WorkerOptions(
                    log: .sqlite(path: place.path + "/log.sqlite"), data: place.path,
                    pipelines: place.path, untilEnd: true), stop: StopSignal())
        }
        try fold()
        let path = place.path + "/bids.sqlite"
        try DatabaseQueue(path: path).write {
            try $0.execute(sql: "UPDATE partitions SET records = 7")
        }
        let damaged = StoreError.damaged(
            path: path,
            detail:
                "partition 0 has folded 7 records, but its outcomes add up to 3: the file and its -wal do not belong together"
        )
        var report = CheckReport()
        try StoreCheck("bids", in: place.path)?.run(log, topic: nil, into: &report)
        #expect(report.text == "wrong: \(damaged)\n")
        #expect(throws: damaged) { try fold() }
        let other = try TemporaryDirectory()
        var writer = try BackupWriter(
            data: place.path, logPath: nil, target: other.path + "/backup"
        ) { _ in }
        #expect(throws: damaged) { try writer.write() }
        let lag = try LagReport(directories: [place.path], log: log, nowMilliseconds: nil)
        #expect(lag.streams.contains { $0.stream == "bids" && $0.lag == 0 })
    }

    @Test("a file of before pages had checksums is said to have none")
    func older() throws {
        try DatabaseQueue(path: "file:\(place.path)/conversions.sqlite?vfs=unix").write { db in
            try db.execute(sql: "CREATE TABLE log (topic TEXT)")
        }
        #expect(
            try check().hasPrefix(
                "warning: DIR/conversions.sqlite has no checksums"))
    }

    @Test("a file that was emptied is wrong")
    func emptied() throws {
        for name in ["corrections", "conversions", "deliveries"] {
            let path = try place.write("", to: "\(name).sqlite")
            #expect(
                try check().contains(
                    "wrong: DIR/\(name).sqlite is damaged (it is empty): restore it from a"))
            try FileManager.default.removeItem(atPath: path)
        }
    }
}
