import EventLog
import Foundation
import KafkaLog
import Logging
import Simulation
import Testing

@Suite("A reader slower than its fetcher")
struct SlowReaderTests {
    @Test("never waits the second that librdkafka 2.0 sleeps once its queue was full")
    func isNotStalled() throws {
        let log = try TestLog(.mock)
        let topic = try log.makeTopic(8)
        let value = [UInt8](repeating: 7, count: 1000)
        try log.log.writer().append(
            (0..<24_000).map { number in
                OutgoingRecord(
                    topic: topic, partition: Int32(number % 8), key: nil, value: value)
            })
        // The queue holds a twelfth of it.
        let small = try KafkaLog(
            KafkaSettings(brokers: log.cluster?.brokers ?? [], memoryBytes: 4 << 20),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let reader = try small.reader(topic: topic)
        defer { reader.close() }
        try reader.subscribe(.all)
        let batch = RecordBatch()
        #expect(try reader.readOn(into: batch) == .assigned(Array(0..<8)))
        #expect(try reader.readOn(into: batch) == .records)
        var count = batch.count
        let stopwatch = Stopwatch()
        var longest = 0.0
        while count < 24_000 {
            usleep(15_000)
            let start = stopwatch.seconds
            let reading = try reader.read(
                into: batch, maxRecords: 2000, maxBytes: 1 << 24, waitMilliseconds: 60_000)
            longest = max(longest, stopwatch.seconds - start)
            try #require(reading == .records)
            count += batch.count
        }
        #expect(longest < 0.9)
    }
}
