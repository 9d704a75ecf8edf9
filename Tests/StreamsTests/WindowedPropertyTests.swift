import Simulation
import Streams
import Testing

@Suite("The folds with a window are functions of the log")
struct WindowedPropertyTests {
    @Test(
        "however the log is cut into batches, and through restarts, the result is the same",
        arguments: WindowedStream.allCases, 1...4 as ClosedRange<UInt64>)
    func batches(_ stream: WindowedStream, _ seed: UInt64) throws {
        var random = RandomRecords(stream, seed: seed)
        let records = random.records(1_500)
        let whole = try stream.fold(records)
        for outcome in [Outcome.accepted, .duplicates, .rejected] {
            #expect(whole.outcome(outcome) > 50)
        }
        #expect(Outcome.allCases.reduce(0) { $0 + whole.outcome($1) } == 1_500)
        #expect(whole.rows(stream.rawValue).count > 8)
        for sizes in [
            [1], [7, 1, 100], [500], [Int.random(in: 2...400, using: &random.random), 3],
        ] {
            #expect(try stream.fold(records, .sizes(sizes)) == whole)
            #expect(try stream.fold(records, .sizes(sizes), restarts: true) == whole)
        }
    }

    @Test(
        "however partitions are interleaved, each gives the same",
        arguments: WindowedStream.allCases, 5...7 as ClosedRange<UInt64>)
    func interleaving(_ stream: WindowedStream, _ seed: UInt64) throws {
        var random = RandomRecords(stream, seed: seed)
        let records = random.records(1_000)
        let whole = try stream.fold(records)
        let byPartition = Dictionary(grouping: records, by: \.partition)
        for _ in 0..<5 {
            var rests = byPartition.mapValues { $0[...] }
            var mixed: [TestRecord] = []
            while let partition = rests.filter({ !$0.value.isEmpty }).keys.sorted()
                .randomElement(using: &random.random)
            {
                guard let record = rests[partition]?.popFirst() else { break }
                mixed.append(record)
            }
            let result = try stream.fold(mixed, .sizes([33]))
            #expect(result.sums == whole.sums)
            #expect(result.watermarks == whole.watermarks)
            #expect(result.nextOffsets == whole.nextOffsets)
            for partition in byPartition.keys {
                #expect(
                    result.refused.filter { $0.partition == partition }
                        == whole.refused.filter { $0.partition == partition })
                #expect(
                    try stream.fold(byPartition[partition] ?? []).sums.mapValues { $0[partition] }
                        == whole.sums.mapValues { $0[partition] }.filter { $0.value != nil })
            }
        }
    }
}
