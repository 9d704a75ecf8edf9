import Streams
import TestKit
import Testing

/// What a window is meant to do, written without a thought of speed.
private struct NaiveWindow {
    var window: Int64
    var watermark: Int64 = 0
    var entries: [RecordID: Int64] = [:]

    mutating func admit(_ id: RecordID, _ timestamp: Int64) -> Bool {
        if let seen = entries[id], seen >= watermark - window { return false }
        entries[id] = timestamp
        return true
    }

    var alive: [RecordID: Int64] { entries.filter { $0.value >= watermark - window } }
}

@Suite("The dedupe window")
struct DedupeWindowTests {
    /// Ids of which many share a segment, a place and half their bits.
    private func id(_ random: inout SeededGenerator, of count: UInt64) -> RecordID {
        let number = UInt64.random(in: 0..<count, using: &random)
        return RecordID(
            high: (number % 3) << 56, low: (number / 3) << 61 | number % 7 << 32 | number)
    }

    @Test("it does what a dictionary does, with expiry, removal and sweeping", arguments: 1...6)
    func model(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        let length: Int64 = [0, 10, 1_000, 20_000][seed % 4]
        let count: UInt64 = [50, 5_000][seed % 2]
        let window = DedupeWindow(windowMilliseconds: length)
        var naive = NaiveWindow(window: length)
        var time: Int64 = 0
        for step in 0..<30_000 {
            time += Int64.random(in: 0...2, using: &random)
            let timestamp = max(0, time - Int64.random(in: 0...30, using: &random))
            window.advance(to: timestamp)
            naive.watermark = max(naive.watermark, timestamp)
            let id = id(&random, of: count)
            switch Int.random(in: 0..<1_000, using: &random) {
            case 0:
                #expect(window.sweep() == naive.alive.count)
                #expect(window.heldCount == naive.alive.count)
            case 1...20:
                window.remove(id)
                naive.entries[id] = nil
            default:
                let isNew = window.admit(id, timestampMilliseconds: timestamp)
                #expect(isNew == naive.admit(id, timestamp), "step \(step)")
            }
            #expect(window.watermarkMilliseconds == naive.watermark)
        }
        let alive = window.aliveEntries()
        #expect(
            Dictionary(uniqueKeysWithValues: alive.map { ($0.id, $0.timestampMilliseconds) })
                == naive.alive)
        #expect(alive.map(\.id) == alive.map(\.id).sorted())
        #expect(window.heldCount >= alive.count)
    }

    @Test("entries that were stored and put back are the same memory")
    func restore() {
        var random = SeededGenerator(seed: 9)
        let window = DedupeWindow(windowMilliseconds: 500)
        for time in 0..<Int64(2_000) {
            window.advance(to: time)
            _ = window.admit(id(&random, of: 3_000), timestampMilliseconds: time)
        }
        let copy = DedupeWindow(
            windowMilliseconds: 500, watermarkMilliseconds: window.watermarkMilliseconds)
        for entry in window.aliveEntries().shuffled(using: &random) { copy.restore(entry) }
        #expect(copy.aliveEntries() == window.aliveEntries())
        for time in Int64(2_000)..<4_000 {
            let id = id(&random, of: 3_000)
            window.advance(to: time)
            copy.advance(to: time)
            #expect(
                window.admit(id, timestampMilliseconds: time)
                    == copy.admit(id, timestampMilliseconds: time))
        }
    }

    @Test("what is held follows the window, not history")
    func bounded() {
        var random = SeededGenerator(seed: 4)
        let window = DedupeWindow(windowMilliseconds: 1_000)
        for time in 0..<Int64(200_000) {
            window.advance(to: time)
            let id = RecordID(high: random.next(), low: random.next())
            #expect(window.admit(id, timestampMilliseconds: time))
        }
        #expect(window.aliveEntries().count == 1_001)
        #expect(window.heldCount < 20_000)
    }

    @Test("ids that differ in one half only are different")
    func halves() {
        let window = DedupeWindow(windowMilliseconds: 0)
        for (high, low) in [(0, 0), (0, 1), (1, 0), (UInt64.max, UInt64.max), (.max, 0), (0, .max)]
        {
            #expect(window.admit(RecordID(high: high, low: low), timestampMilliseconds: 0))
            #expect(!window.admit(RecordID(high: high, low: low), timestampMilliseconds: 0))
        }
        #expect(window.heldCount == 6)
    }
}
