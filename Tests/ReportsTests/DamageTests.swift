import DatabaseFiles
import Foundation
import GRDB
import Reports
import Store
import TestKit
import Testing

@Suite("Damaged stores")
struct DamageTests {
    private let sample = SampleStores()

    /// Folds records that are no auctions.
    private func foldRejected(_ count: Int, text: String) throws {
        try sample.foldBids(
            (0..<count).map { (number: Int) in
                SampleStores.Record(
                    partition: Int32(number % 4), offset: Int64(number / 4),
                    milliseconds: SampleStores.noon + Int64(number) * 60_000, type: "auction",
                    value: "{\"no\": \"auction \(number)\(text)\"}")
            })
    }

    @Test("a store with a changed bit or byte gives the same numbers or none, and a check finds it")
    func flips() throws {
        try foldRejected(2000, text: String(repeating: "x", count: 150))
        let path = sample.directory("data") + "/bids.sqlite"
        let digest = try sample.stores("data").digest()
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        #expect(try #require(size) > 300_000)
        var refused = 0
        try DamagedBytes.each(60, in: path, seed: 1) { index in
            do {
                #expect(try sample.stores("data").digest() == digest, "byte \(index)")
            } catch InspectionError.store(.damaged(let damaged, let words)) {
                #expect(damaged == path)
                #expect(
                    words.contains("page \(index / 8192 + 1) ") || index < 100,
                    "byte \(index): \(words)")
                refused += 1
            } catch {
                Issue.record("byte \(index): \(error)")
            }
        }
        #expect(refused > 40)
        try DamagedBytes.each(200, in: path, seed: 2) { index in
            do {
                let damage = try CheckedPages.openToRead(path).inDatabase {
                    try CheckedPages.findDamage($0, path: path)
                }
                #expect(damage != nil, "byte \(index)")
            } catch {
                // The page is needed to open it.
                guard case StoreError.damaged = StoreError(error, operation: "read", path: path)
                else {
                    Issue.record("byte \(index): \(error)")
                    return
                }
            }
        }
    }

    @Test(
        "a question that reads a damaged page is answered with its number, not with what follows from it"
    )
    func damagedPage() throws {
        try foldRejected(4000, text: "")
        let path = sample.directory("data") + "/bids.sqlite"
        var refused = 0
        try DamagedBytes.each(60, in: path, seed: 3) { index in
            do {
                try sample.stores("data").withSlices(of: ["bids"]) { slices in
                    for slice in slices {
                        for number in slice.numbers {
                            _ = try slice.snapshot.refused(partition: number)
                        }
                    }
                }
            } catch InspectionError.store(.damaged(_, let words)) {
                #expect(words.contains("page \(index / 8192 + 1) ") || index < 100, "\(words)")
                refused += 1
            } catch {
                Issue.record("byte \(index): \(error)")
            }
        }
        #expect(refused > 5)
    }

    @Test("an older copy of a store under the -wal of a newer one gives no numbers")
    func mixed() throws {
        func fold(_ numbers: Range<Int>) throws {
            try sample.foldBids(
                numbers.map { number in
                    SampleStores.Record(
                        offset: Int64(number),
                        milliseconds: SampleStores.noon + Int64(number) * SampleStores.hour,
                        type: "auction", value: "{\"no\": \(number)")
                })
        }
        try fold(0..<500)
        let path = sample.directory("data") + "/bids.sqlite"
        let older = try Data(contentsOf: URL(fileURLWithPath: path))
        try fold(500..<1000)
        // While another has the file open, nobody brings the -wal into it.
        let other = try CheckedPages.openToRead(path)
        _ = try other.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM hours") }
        try fold(1000..<1010)
        #expect(throws: Never.self) { try sample.stores("data").digest() }
        let mixed = sample.directory("mixed")
        try FileManager.default.createDirectory(atPath: mixed, withIntermediateDirectories: true)
        try older.write(to: URL(fileURLWithPath: mixed + "/bids.sqlite"))
        try FileManager.default.copyItem(atPath: path + "-wal", toPath: mixed + "/bids.sqlite-wal")
        do {
            _ = try sample.stores("mixed").digest()
            Issue.record("it gave a digest")
        } catch InspectionError.store(.damaged(let damaged, _)) {
            #expect(damaged == mixed + "/bids.sqlite")
        }
        withExtendedLifetime(other) {}
    }

    @Test(
        "a store whose records do not add up to their outcomes, or to those of its hours, gives no numbers",
        arguments: [
            ("UPDATE partitions SET records = 7", "7 records, but its outcomes add up to 3"),
            ("UPDATE hours SET records = 2", "3 records, but its hours add up to 2"),
            ("DELETE FROM hours", "3 records, but its hours add up to 0"),
            ("DELETE FROM partitions", "0 records, but its outcomes add up to 3"),
        ])
    func contradictions(change: String, words: String) throws {
        let record = { SampleStores.Record(offset: $0, type: "auction", value: "{") }
        try sample.foldBids([record(0), record(1), record(2)])
        _ = try sample.stores("data").digest()
        try sample.change(change, stream: "bids")
        let path = sample.directory("data") + "/bids.sqlite"
        let expected = StoreError.damaged(
            path: path,
            detail:
                "partition 0 has folded \(words): the file and its -wal do not belong together"
        )
        #expect(throws: InspectionError.store(expected)) { try sample.stores("data").digest() }
        #expect(throws: InspectionError.store(expected)) {
            try sample.stores("data").dump(ReportRequest(name: "outcomes"))
        }
        // As the worker opens it.
        #expect(throws: expected) { try sample.foldBids([record(3)]) }
    }

    @Test("a store that cannot be opened fails only the requests that need it")
    func otherStream() throws {
        try sample.foldBids([.init(offset: 0, type: "auction", value: "{")])
        try sample.foldNotifications([.init(offset: 0)])
        let numbers = try sample.stores("data").dump(ReportRequest(name: "store-notifications"))
        try sample.change("PRAGMA user_version = 999", stream: "bids")
        let stores = try sample.stores("data")
        #expect(
            try stores.dump(ReportRequest(name: "store-notifications")).rows.count
                == numbers.rows.count)
        #expect(try stores.foldedUnderOtherRules().allSatisfy { !$0.store.contains("bids") })
        for request in [ReportRequest(name: "bids"), ReportRequest(name: "outcomes")] {
            let error = try #require(throws: InspectionError.self) { try stores.dump(request) }
            guard case .store(.newerVersion(_, 999, _)) = error else {
                Issue.record("\(error)")
                continue
            }
        }
        #expect(throws: InspectionError.self) { try stores.digest() }
    }

    @Test("of several stores, the one that is damaged is named, with its page")
    func several() throws {
        try sample.foldBids(
            (0..<300).map {
                .init(offset: Int64($0), type: "auction", value: "{\"no\": \"auction \($0)\"}")
            })
        try sample.foldNotifications([.init(offset: 0)])
        let path = sample.directory("data") + "/bids.sqlite"
        let digest = try sample.stores("data").digest()
        var refused = 0
        try DamagedBytes.each(60, in: path, seed: 3) { index in
            do {
                #expect(try sample.stores("data").digest() == digest, "byte \(index)")
            } catch InspectionError.store(.damaged(let damaged, let words)) {
                #expect(damaged == path)
                #expect(
                    words.contains("page \(index / 8192 + 1) ") || index < 100,
                    "byte \(index): \(words)")
                refused += 1
            } catch {
                Issue.record("byte \(index): \(error)")
            }
        }
        #expect(refused > 5)
    }

    @Test(
        "what says which program's file it is, or how its pages are, is not believed when damaged")
    func header() throws {
        try sample.foldBids([.init(offset: 0)])
        let path = sample.directory("data") + "/bids.sqlite"
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        for index in [2, 16, 17, 18, 20, 21, 28, 60, 70] {
            let byte = bytes[index]
            bytes[index] ^= 0x08
            try bytes.write(to: URL(fileURLWithPath: path))
            bytes[index] = byte
            #expect("byte \(index)") { try sample.stores("data").digest() } throws: { error in
                if case InspectionError.store(.damaged) = error { true } else { false }
            }
        }
    }
}
