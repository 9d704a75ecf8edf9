import AggregateStore
import DatabaseFiles
import Foundation
import Inspection
import Simulation
import Testing

@Suite("Damaged stores")
struct DamageTests {
    private let sample = SampleStores()

    @Test("a store with a changed bit or byte gives the same numbers or none, and a check finds it")
    func flips() throws {
        try sample.foldBids(
            (0..<2000).map { number in
                SampleStores.Record(
                    partition: Int32(number % 4), offset: Int64(number / 4),
                    milliseconds: SampleStores.noon + Int64(number) * 60_000, type: "auction",
                    value: "{\"no\": \"auction \(number)\(String(repeating: "x", count: 150))\"}")
            })
        let path = sample.directory("data") + "/bids.sqlite"
        let digest = try sample.stores("data").digest()
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        #expect(try #require(size) > 300_000)
        var refused = 0
        try DamagedBytes.each(60, in: path, seed: 1) { place in
            do {
                #expect(try sample.stores("data").digest() == digest, "byte \(place)")
            } catch InspectionError.store(.damaged(let damaged, let words)) {
                #expect(damaged == path)
                #expect(
                    words.contains("page \(place / 8192 + 1) ") || place < 100,
                    "byte \(place): \(words)")
                refused += 1
            } catch {
                Issue.record("byte \(place): \(error)")
            }
        }
        #expect(refused > 40)
        try DamagedBytes.each(200, in: path, seed: 2) { place in
            do {
                let damage = try CheckedPages.openToRead(path).inDatabase {
                    try CheckedPages.findDamage($0, path: path)
                }
                #expect(damage != nil, "byte \(place)")
            } catch {
                // The page is needed to open it.
                guard case StoreError.damaged = StoreError(error, operation: "read", path: path)
                else {
                    Issue.record("byte \(place): \(error)")
                    return
                }
            }
        }
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
        try DamagedBytes.each(60, in: path, seed: 3) { place in
            do {
                #expect(try sample.stores("data").digest() == digest, "byte \(place)")
            } catch InspectionError.store(.damaged(let damaged, let words)) {
                #expect(damaged == path)
                #expect(
                    words.contains("page \(place / 8192 + 1) ") || place < 100,
                    "byte \(place): \(words)")
                refused += 1
            } catch {
                Issue.record("byte \(place): \(error)")
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
        for place in [2, 16, 17, 18, 20, 21, 28, 60, 70] {
            let byte = bytes[place]
            bytes[place] ^= 0x08
            try bytes.write(to: URL(fileURLWithPath: path))
            bytes[place] = byte
            #expect("byte \(place)") { try sample.stores("data").digest() } throws: { error in
                if case InspectionError.store(.damaged) = error { true } else { false }
            }
        }
    }
}
