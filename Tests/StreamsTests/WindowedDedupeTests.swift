import EventLog
import Streams
import Testing

@Suite("Duplicates in a window")
struct WindowedDedupeTests {
    private let hour: Int64 = 3_600_000
    private let noon = TestRecord.halfPastFive

    private func outcomes(_ stream: WindowedStream, _ records: [TestRecord]) throws -> [Int64] {
        let result = try stream.fold(records, windowMilliseconds: hour)
        return [.accepted, .duplicates, .rejected].map { result.outcome($0) }
    }

    @Test(
        "an entry at the very edge of the window is alive, a millisecond older it is dead",
        arguments: WindowedStream.allCases)
    func boundary(_ stream: WindowedStream) throws {
        #expect(
            try outcomes(stream, [stream.event("a", noon), stream.event("a", noon + hour)]) == [
                1, 1, 0,
            ])
        #expect(
            try outcomes(stream, [stream.event("a", noon), stream.event("a", noon + hour + 1)]) == [
                2, 0, 0,
            ])
        #expect(
            try outcomes(
                stream,
                [stream.event("a", noon), stream.event("x", noon + hour), stream.event("a", noon)])
                == [2, 1, 0])
        #expect(
            try outcomes(
                stream,
                [
                    stream.event("a", noon), stream.event("x", noon + hour + 1),
                    stream.event("a", noon),
                ]) == [3, 0, 0])
    }

    @Test("a duplicate does not refresh its entry", arguments: WindowedStream.allCases)
    func noRefresh(_ stream: WindowedStream) throws {
        #expect(
            try outcomes(
                stream,
                [
                    stream.event("a", noon), stream.event("a", noon + hour),
                    stream.event("a", noon + hour + 1),
                    stream.event("a", noon + 2 * hour),
                ]) == [2, 2, 0])
    }

    @Test(
        "a record older than the window leaves an entry that is dead at once",
        arguments: WindowedStream.allCases)
    func lateRecords(_ stream: WindowedStream) throws {
        #expect(
            try outcomes(
                stream,
                [
                    stream.event("x", noon), stream.event("a", noon - hour - 1),
                    stream.event("a", noon - hour - 1),
                ])
                == [3, 0, 0])
        #expect(
            try outcomes(
                stream,
                [
                    stream.event("x", noon), stream.event("a", noon - hour),
                    stream.event("a", noon - hour),
                ]) == [
                    2, 1, 0,
                ])
    }

    @Test(
        "refused records move the watermark: malformed, unknown, tombstones",
        arguments: WindowedStream.allCases)
    func refusedMoveWatermark(_ stream: WindowedStream) throws {
        let refused = [
            TestRecord("{", timestamp: noon + hour + 1),
            TestRecord(nil as [UInt8]?, timestamp: noon + hour + 1),
            TestRecord("{}", type: "no.such", timestamp: noon + hour + 1),
        ]
        for record in refused {
            #expect(
                try outcomes(stream, [stream.event("a", noon), record, stream.event("a", noon)])
                    == [2, 0, 1])
        }
    }

    @Test(
        "a refused record leaves no entry, and a refused copy is no duplicate",
        arguments: WindowedStream.allCases)
    func refusedLeaveNoEntry(_ stream: WindowedStream) throws {
        let broken = stream.brokenEvent("a")
        #expect(try outcomes(stream, [broken, stream.event("a", noon), broken]) == [1, 0, 2])
    }

    @Test("-1 counts as 0, as any time before 1970 does", arguments: WindowedStream.allCases)
    func beforeTheEpoch(_ stream: WindowedStream) throws {
        #expect(
            try outcomes(stream, [stream.event("a", -1), stream.event("a", hour)]) == [1, 1, 0])
        #expect(
            try outcomes(stream, [stream.event("a", -1), stream.event("a", hour + 1)]) == [2, 0, 0])
        #expect(
            try outcomes(stream, [stream.event("a", .min), stream.event("a", 0)]) == [1, 1, 0])
    }

    @Test("a partition knows nothing of another's ids", arguments: WindowedStream.allCases)
    func partitions(_ stream: WindowedStream) throws {
        #expect(
            try outcomes(
                stream,
                [
                    stream.event("a", noon), stream.event("a", noon).inPartition(1),
                    stream.event("a", noon).inPartition(1),
                ]) == [2, 1, 0])
        #expect(
            try outcomes(
                stream,
                [
                    stream.event("a", noon), stream.event("x", noon + 2 * hour).inPartition(1),
                    stream.event("a", noon),
                ]) == [2, 1, 0])
    }

    @Test("a window of 0 forgets as soon as time moves on", arguments: WindowedStream.allCases)
    func noWindow(_ stream: WindowedStream) throws {
        let result = try stream.fold(
            [stream.event("a", noon), stream.event("a", noon), stream.event("a", noon + 1)],
            windowMilliseconds: 0)
        #expect(result.outcome(.accepted) == 2)
    }
}
