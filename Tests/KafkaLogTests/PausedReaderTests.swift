import EventLog
import MockKafka
import Testing

@Suite("A reader that paused partitions")
struct PausedReaderTests {
    @Test("reads them again once it subscribes anew", arguments: TestLog.Kind.available)
    func subscribesAnew(kind: TestLog.Kind) async throws {
        try await onThread {
            let log = try TestLog(kind)
            let topic = try log.makeTopic(2)
            try log.log.writer().append(
                (0..<10).map { record("\($0)", topic: topic, partition: Int32($0 % 2)) })
            let reader = try log.log.reader(topic: topic)
            defer { reader.close() }
            let batch = RecordBatch()
            for start in [3, 1, 2] as [Int64] {
                try reader.subscribe(.partitions([0, 1]))
                #expect(try reader.readOn(into: batch) == .assigned([0, 1]))
                for partition in [0, 1] as [Int32] {
                    try reader.seek(partition: partition, to: start)
                }
                var firsts: [Int32: Int64] = [:]
                let deadline = ContinuousClock.now + .seconds(60)
                while firsts.count < 2, ContinuousClock.now < deadline {
                    _ = try reader.read(
                        into: batch, maxRecords: 100, maxBytes: 1 << 20, waitMilliseconds: 50)
                    for index in 0..<batch.count where firsts[batch[index].partition] == nil {
                        firsts[batch[index].partition] = batch[index].offset
                        try reader.pause(partition: batch[index].partition)
                    }
                }
                #expect(firsts == [0: start, 1: start])
            }
        }
    }
}
