import EventLog
import Foundation
import KafkaLog
import Synchronization
import TestKit

/// Publishes records of known content at a steady rate, on its own thread.
///
/// Of a thousand records, fifty repeat one of the last thousand and two cannot be decoded. Each of the others is an
/// auction with one bid of price 1, numbered from 0.
final class SoakPublisher: Sendable {
    struct Published: Sendable {
        /// Auctions, numbered from 0, without repetitions.
        var auctions: Int64 = 0
        var repetitions: Int64 = 0
        var poison: Int64 = 0
        /// The end offset of each partition.
        var ends: [Int32: Int64] = [:]
        /// Failed and repeated appends.
        var failures = 0
        var failure: String?
        var hasEnded = false
    }

    static let poisonKey = "poison-"

    private let state = Mutex(Published())
    private let isToEnd = Atomic<Bool>(false)
    private let rate: Int
    private let topic: String

    var published: Published { state.withLock { $0 } }

    init(_ workspace: SoakWorkspace, rate: Int, seed: UInt64) throws {
        self.rate = rate
        topic = workspace.topic
        nonisolated(unsafe) let log = try workspace.openLog()
        Thread.detachNewThread { [self] in
            do {
                try publish(to: log, seed: seed)
            } catch {
                state.withLock { $0.failure = "\(error)" }
            }
            state.withLock { $0.hasEnded = true }
        }
    }

    /// Returns once the pending records are in the log.
    func end() {
        isToEnd.store(true, ordering: .relaxed)
        while !published.hasEnded { usleep(20_000) }
    }

    private func publish(to log: KafkaLog, seed: UInt64) throws {
        let writer = try log.writer()
        var generator = SeededGenerator(seed: seed)
        let start = ContinuousClock.now
        var count = 0
        while !isToEnd.load(ordering: .relaxed) {
            // Mock brokers answer one batch per partition at a time, so batches should be large.
            usleep(400_000)
            let due = Int(start.duration(to: .now) / .milliseconds(1)) * rate / 1000
            // After an interruption, the overdue records follow in portions.
            let portion = min(due - count, rate)
            guard portion > 0 else { continue }
            var next = published
            let records = (0..<portion).map { _ in record(&next, &generator) }
            try append(records, with: writer, &next)
            count += portion
            let reached = next
            state.withLock { $0 = reached }
        }
    }

    /// Appends until it succeeds. Records that are in the log twice as a result count as repetitions.
    private func append(
        _ records: [OutgoingRecord], with writer: any LogWriter, _ next: inout Published
    ) throws {
        for attempt in 1... {
            do {
                for position in try writer.append(records) {
                    next.ends[position.partition] = max(
                        position.offset + 1, next.ends[position.partition] ?? 0)
                }
                return
            } catch {
                next.failures += 1
                guard attempt < 5 else { throw error }
                sleep(1)
            }
        }
    }

    private func record(
        _ next: inout Published, _ generator: inout SeededGenerator
    ) -> OutgoingRecord {
        let chance = Int.random(in: 0..<1000, using: &generator)
        if chance < 2 {
            next.poison += 1
            let texts = ["{\"request\":", "{}", "{\"request\":{\"id\":7.5}}", "[]"]
            return OutgoingRecord(
                topic: topic, key: Array("\(Self.poisonKey)\(next.poison)".utf8),
                value: Array(texts[Int(next.poison) % texts.count].utf8))
        }
        var number = next.auctions
        if chance < 52, number > 0 {
            next.repetitions += 1
            number = Int64.random(in: max(0, number - 1000)..<number, using: &generator)
        } else {
            next.auctions += 1
        }
        return OutgoingRecord(
            topic: topic, key: Array("\(number)".utf8),
            value: Array(
                """
                {"request":{"id":"\(number)","imp":[{"id":"1"}]},"response":{"id":"\(number)",\
                "seatbid":[{"bid":[{"id":"1","impid":"1","price":1}]}]}}
                """.utf8))
    }
}
