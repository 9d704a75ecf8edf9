import EventLog
import Foundation
import Monitoring
import Streams
import Testing

@testable import Engine
@testable import Store

/// A log that says where its one partition ends, or fails.
private final class ScriptedReader: LogReader {
    let topic = "bids"
    var end: Int64 = 0
    var fault: LogError?
    /// How far the partition is read.
    var position: Int64?

    func bounds(of partitions: [Int32]) throws(LogError) -> [PartitionBounds] {
        if let fault { throw fault }
        return [PartitionBounds(partition: 3, earliestOffset: 0, endOffset: end)]
    }

    var isCaughtUp: Bool { true }

    func identity() -> String { "" }
    func partitionCount() -> Int32 { 4 }
    func position(partition: Int32) -> Int64? { position }
    func pause(partition: Int32) {}
    func resume(partition: Int32) {}
    func close() {}
    func subscribe(_ assignment: LogAssignment) {}
    func seek(partition: Int32, to offset: Int64) {}
    func read(
        into batch: RecordBatch, maxRecords: Int, maxBytes: Int, waitMilliseconds: Int
    ) -> LogReading { .idle }
    func offset(partition: Int32, atOrAfter timestampMilliseconds: Int64) -> Int64? { nil }
    func committedOffsets() -> [Int32: GroupOffset] { [:] }
    func commit(_ offsets: [Int32: GroupOffset]) {}
}

@Suite("What a worker's loop tells")
struct WorkerMetricsTests {
    private let registry = MetricRegistry([])
    private let health = Health(waitMilliseconds: 0)
    private let reader = ScriptedReader()
    private let metrics: WorkerMetrics

    init() {
        metrics = WorkerMetrics(
            topic: "bids", group: "weir-bids", factory: registry, health: health,
            boundsInterval: .zero)
    }

    private func value(_ name: String) -> Double? {
        let line = registry.text.split(separator: "\n").first { $0.hasPrefix(name + "{") }
        return line?.split(separator: " ").last.flatMap { Double($0) }
    }

    private func state(nextOffset: Int64, watermarkMilliseconds: Int64) -> PartitionState {
        PartitionState(
            partition: 3, firstOffset: 0, logStart: 0, nextOffset: nextOffset,
            watermarkMilliseconds: watermarkMilliseconds, records: nextOffset, emitFrom: 0,
            deadLettersNext: 0, outboxNext: 0, outboxEmitted: 0, lastRecord: "")
    }

    @Test(
        "The lag is what the log has beyond the next offset, and as old as the newest folded record"
    )
    func lag() throws {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        metrics.take(state(nextOffset: 5, watermarkMilliseconds: now - 90_000), end: 5)
        metrics.updateAssignment(rememberedIDs: 2)
        #expect(value("kafka_consumergroup_lag") == 0)
        #expect(value("weir_lag_seconds") == 0)
        reader.end = 12
        metrics.beat(reader, isFolded: true)
        #expect(value("kafka_consumergroup_lag") == 7)
        #expect(value("kafka_consumergroup_current_offset") == 5)
        #expect((90..<120).contains(try #require(value("weir_lag_seconds"))))
        #expect(value("weir_dedupe_ids") == 2)
        let began = ContinuousClock.now
        metrics.commit(
            AwaitedBatch(
                stored: StoredBatch(),
                partitions: [
                    PartitionProgress(
                        partition: 3, nextOffset: 11, watermarkMilliseconds: now - 30_000,
                        records: 6)
                ], verifications: 4, began: began, folded: began + .seconds(2)),
            at: began + .seconds(5), rememberedIDs: 8)
        #expect(value("kafka_consumergroup_lag") == 1)
        #expect((30..<600).contains(try #require(value("weir_lag_seconds"))))
        #expect(value("weir_verifications_total") == 4)
        #expect(value("weir_dedupe_ids") == 8)
        #expect(value("weir_fold_duration_seconds_sum") == 2)
        #expect(value("weir_commit_duration_seconds_sum") == 3)
    }

    @Test(
        "Behind the last record nothing but control records is no lag, once all that was read is folded"
    )
    func controlRecords() {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        metrics.take(state(nextOffset: 5, watermarkMilliseconds: now - 90_000), end: 8)
        reader.end = 8
        reader.position = 8
        metrics.beat(reader, isFolded: false)
        #expect(value("kafka_consumergroup_lag") == 3)
        metrics.beat(reader, isFolded: true)
        #expect(value("kafka_consumergroup_lag") == 0)
        #expect(value("weir_lag_seconds") == 0)
        #expect(value("kafka_consumergroup_current_offset") == 5)
        reader.end = 9
        metrics.beat(reader, isFolded: true)
        #expect(value("kafka_consumergroup_lag") == 1)
    }

    @Test("A worker is ready with partitions and a log that answers, and says why it is not")
    func readiness() {
        metrics.beat(reader, isFolded: true)
        #expect(health.unreadiness == "no partition is assigned yet")
        metrics.take(state(nextOffset: 0, watermarkMilliseconds: 0), end: 4)
        metrics.updateAssignment(rememberedIDs: 0)
        #expect(health.unreadiness == nil)
        #expect(value("weir_lag_seconds") == 0)
        let fault = LogError.busy(operation: "read", address: "sqlite:x")
        reader.fault = fault
        metrics.beat(reader, isFolded: true)
        #expect(health.unreadiness == fault.description)
        #expect(value("kafka_consumergroup_lag") == 4)
        reader.fault = nil
        reader.end = 4
        metrics.beat(reader, isFolded: true)
        #expect(health.unreadiness == nil)
        metrics.drop(3)
        metrics.updateAssignment(rememberedIDs: 0)
        #expect(health.unreadiness == "no partition is assigned")
        #expect(value("weir_partitions_assigned") == 0)
        #expect(value("kafka_consumergroup_lag") == nil)
        #expect(value("weir_lag_seconds") == nil)
    }
}

@Suite("Progress of a worker")
struct ProgressTests {
    @Test("It names the rate and the time that is left")
    func progress() {
        #expect(
            Progress.line("bids", records: 600, seconds: 2, left: 60_000)
                == "bids: 600 records, 300 a second, 60000 left, about 3 min")
        #expect(
            Progress.line("bids", records: 600, seconds: 2, left: 0)
                == "bids: 600 records, 300 a second, 0 left")
        #expect(
            Progress.line("bids", records: 600, seconds: 2, left: nil)
                == "bids: 600 records, 300 a second")
    }
}
