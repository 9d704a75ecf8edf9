import TestKit
import Testing

@testable import Deliveries

@Suite("Who took a partition over")
struct PartitionTakersTests {
    @Test("a copy of a store has lost what it took over after it, and not what another one did")
    func lost() {
        let takers = PartitionOwners(metadata: "weir-deliveries a:0 b:1000 a:1100")
        #expect(takers.lostStart(of: "a", at: 900, before: 1150) == 900)
        #expect(takers.lostStart(of: "a", at: 1000, before: 1150) == 1100)
        #expect(takers.lostStart(of: "a", at: 1150, before: 1150) == nil)
        #expect(takers.lostStart(of: "b", at: 0, before: 1150) == 1000)
        #expect(takers.lostStart(of: "b", at: 1100, before: 1150) == nil)
        #expect(takers.lostStart(of: "c", at: 0, before: 1150) == nil)
    }

    @Test("a copy takes over from where it is, where nobody knows who came next")
    func unknown() {
        let takers = PartitionOwners(metadata: "weir-deliveries b:500 a:1000")
        #expect(takers.lostStart(of: "a", at: 300, before: 1100) == 300)
        #expect(takers.lostStart(of: "a", at: 1100, before: 1100) == nil)
        #expect(takers.lostStart(of: "b", at: 1000, before: 1100) == nil)
    }

    @Test("who takes it over again has all that others took over since")
    func again() {
        var takers = PartitionOwners(metadata: "weir-deliveries a:0 b:1000 c:1100")
        takers.begin("a", at: 1050)
        #expect(takers.metadata == "weir-deliveries a:0 b:1000 a:1050")
        takers.begin("a", at: 1200)
        #expect(takers.metadata == "weir-deliveries a:0 b:1000 a:1050")
        takers.begin("a", at: 900)
        #expect(takers.metadata == "weir-deliveries a:0")
    }

    @Test(
        "a note of an earlier version names the last store; one of another program names none",
        arguments: [
            ("weir-deliveries a", 5), ("weir-deliveries b", nil), ("weir 7 a0", nil), ("", nil),
            ("a:0", nil), ("weir-deliveries :", nil),
        ])
    func others(metadata: String, lost: Int64?) {
        #expect(PartitionOwners(metadata: metadata).lostStart(of: "a", at: 5, before: 9) == lost)
    }

    @Test("what no store is called does not stay in a note")
    func notOfWeir() {
        var takers = PartitionOwners(metadata: "weir-deliveries " + "x".repeated(4000))
        takers.begin("a", at: 5)
        #expect(takers.metadata == "weir-deliveries a:5")
    }

    @Test("brokers take the note of a partition that has moved a thousand times")
    func moves() {
        var takers = PartitionOwners(metadata: "")
        for move in 0..<1000 {
            takers.begin("\(move % 3)".repeated(32), at: Int64.max - 1000 + Int64(move))
        }
        #expect(takers.metadata.utf8.count < 4096)
        #expect(PartitionOwners(metadata: takers.metadata) == takers)
    }

    @Test(
        "whatever moves, is killed and restored: each record is in a store, or a copy knows that it has lost it",
        arguments: 0..<300 as Range<UInt64>)
    func nothingForgotten(seed: UInt64) {
        struct Instance {
            var has: Set<Int64> = []
            var next: Int64 = 0
        }
        var random = SeededGenerator(seed: seed)
        var instances = ["a": Instance(), "b": Instance(), "c": Instance()]
        var copies: [String: Instance] = [:]
        var takers = PartitionOwners(metadata: "")
        var groupNext: Int64 = 0
        func lostStart(_ name: String) -> Int64? {
            takers.lostStart(of: name, at: instances[name]?.next ?? 0, before: groupNext)
        }
        for step in 0..<30 {
            let name = ["a", "b", "c"][Int.random(in: 0..<3, using: &random)]
            var instance = instances[name] ?? Instance()
            switch Int.random(in: 0..<6, using: &random) {
            case 0: copies[name] = instance
            case 1: instances[name] = copies[name] ?? instance
            default:
                let lost = lostStart(name)
                let start = lost ?? max(instance.next, groupNext)
                instance.next = start + Int64.random(in: 0..<5, using: &random)
                instance.has.formUnion(start..<instance.next)
                instances[name] = instance
                // A copy reports nothing before it has caught up; another one may be killed before it does.
                guard lost == nil ? Bool.random(using: &random) : instance.next >= groupNext
                else { break }
                takers.begin(name, at: min(start, groupNext))
                groupNext = instance.next
            }
            let ingested = instances.values.reduce(into: Set<Int64>()) { $0.formUnion($1.has) }
            let lost = instances.keys.compactMap(lostStart).min() ?? .max
            for offset in 0..<groupNext where !ingested.contains(offset) && offset < lost {
                Issue.record(
                    "\(offset) is forgotten in step \(step): \(takers.metadata), \(groupNext)")
            }
        }
    }
}

extension String {
    fileprivate func repeated(_ count: Int) -> String { String(repeating: self, count: count) }
}
