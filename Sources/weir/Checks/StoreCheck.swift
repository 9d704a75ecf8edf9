import ConfigurationValues
import Engine
import EventLog
import Foundation
import Program
import Reports
import Store
import Streams
import Wording

/// Checks one store: that it opens, and that it can continue with the log.
struct StoreCheck {
    let stream: String
    let path: String
    private let sets: PromotionJournal

    /// The number of last hours for which folded records are compared with the log.
    private static let hours = 100

    /// The store of a stream; nil if the directory does not contain it.
    init?(_ stream: String, in directory: String) throws(StoreError) {
        self.stream = stream
        sets = try PromotionJournal(directory: directory)
        path = try sets.presentPath(of: stream)
        guard FileManager.default.fileExists(atPath: path) else { return nil }
    }

    /// Opens the store, compares it with the log, and checks the configuration against the folded state, like its
    /// worker does at startup. Without a log or a configuration, that part is skipped.
    ///
    /// - Parameters:
    ///   - configured: the configured topic; nil for that of the store.
    ///   - group: the consumer group of the worker; nil for the program's name.
    ///   - present: the time of the clock; nil to skip the comparison of records with it.
    func run(
        _ log: (any LogBackend)?, topic configured: String?, group: String? = nil,
        pipelines: PipelineDirectory? = nil, present: Present? = nil, into report: inout CheckReport
    ) {
        do {
            let store = try StoreReader(path: path)
            guard store.stream == stream else {
                throw StoreError.otherStream(path: path, found: store.stream, wanted: stream)
            }
            let (foldedLog, states) = try store.snapshot {
                (
                    FoldedLog(
                        store: path, topic: $0.topic, logIdentity: $0.logIdentity,
                        partitionCount: try $0.partitionCount()), try $0.partitionStates()
                )
            }
            let topic = foldedLog.topic
            var refusals: [any OperatorError] = []
            if stream == emittingStream {
                _ = try CorrectionStore.presentPath(of: stream, in: sets)
            }
            if let log {
                refusals = try foldedLog.refusals(
                    in: log, topic: configured, nextOffsets: states.nextOffsets,
                    oldestExpected: states.oldestExpected)
                if refusals.isEmpty {
                    refusals = try otherRecords(states, of: topic, in: log, store)
                }
            }
            if let pipelines, let fold = Streams.stream(named: stream) {
                if let refusal = try fold.refusal(of: store, pipelines: pipelines) {
                    refusals.append(refusal)
                }
            }
            let (difference, unknown) = try store.snapshot {
                (try $0.difference(), try $0.unknownMeasures())
            }
            refusals += difference.other.prefix(1).map {
                StoreError.otherColumns(path: path, table: $0.table, columns: $0.columns)
            }
            for refusal in refusals { report.add(wrong: "\(refusal)") }
            guard refusals.isEmpty else { return }
            if !unknown.isEmpty {
                report.add(doubtful: "store \(UnknownMeasure.explanation(unknown, store: path))")
            }
            if let log { try reportIfSetBack(states, of: topic, group, in: log, &report) }
            let records = states.reduce(0) { $0 + $1.records }
            report.add(
                right:
                    "store \(path): \(counted(records, "record")) of \(topic) in \(counted(states.count, "partition"))"
            )
            if let present { try reportDatedAhead(states, of: topic, present, in: store, &report) }
        } catch {
            report.add(wrong: "\(error)")
        }
    }

    /// Warns of records dated ahead of the clock. Stores know only the hours of records, so records dated ahead within
    /// the current hour are not counted.
    private func reportDatedAhead(
        _ states: [PartitionState], of topic: String, _ present: Present, in store: StoreReader,
        _ report: inout CheckReport
    ) throws {
        let hours = try store.snapshot { snapshot in
            try states.filter { present.isAhead($0.watermarkMilliseconds) }
                .flatMap { try snapshot.hours(of: $0.partition) }
        }.filter { present.isAhead($0.hour.startMilliseconds) }
        let count = hours.reduce(0) { $0 + $1.records }
        guard count > 0, let latest = hours.map(\.hour).max() else { return }
        report.add(
            doubtful:
                "store \(path): \(counted(count, "record")) of \(topic) \(count == 1 ? "is" : "are") dated ahead of the clock, the latest in the hour \(latest.text): reports end at the newest record with a correct time (docs/guides/save-a-report.md)"
        )
    }

    /// A store commits before its consumer group does. A store with a next offset below the group's is an older copy or
    /// is being rebuilt, or the group's offsets belong to another topic.
    private func reportIfSetBack(
        _ states: [PartitionState], of topic: String, _ group: String?, in log: any LogBackend,
        _ report: inout CheckReport
    ) throws {
        let reader = try log.reader(topic: topic, group: group ?? "weir-\(stream)")
        defer { reader.close() }
        let committed = try reader.committedOffsets()
        let change = try LogChange.ofGroup(
            committed, try reader.bounds(of: states.map(\.partition)), of: topic,
            watched: states.compactMap(\.watched),
            openReader: { try log.lookingReader(topic: topic) })
        if let change { throw change }
        for state in states {
            guard let offset = committed[state.partition]?.next, state.nextOffset < offset else {
                continue
            }
            report.add(
                doubtful: "\(path): \(topic)/\(state.partition) "
                    + StreamLag.setBack(state.nextOffset, offset))
        }
    }

    /// Compares folded records with those of the log, like the worker does.
    private func otherRecords(
        _ states: [PartitionState], of topic: String, in log: any LogBackend, _ store: StoreReader
    ) throws -> [any OperatorError] {
        let reader = try log.lookingReader(topic: topic)
        defer { reader.close() }
        let bounds = try reader.bounds(of: states.map(\.partition))
        let fingerprints = try store.snapshot { snapshot in
            try states.compactMap(\.watched).flatMap { state in
                let earliest = bounds.first { $0.partition == state.partition }?.earliestOffset
                return try snapshot.fingerprints(of: state, from: earliest ?? 0, hours: Self.hours)
            }
        }
        let look = try FingerprintCheck(fingerprints, with: reader)
        return look.others.map { other in
            LogChange.otherRecords(
                TopicPartition(topic: topic, partition: other.partition), offset: other.offset,
                store: path)
        }
            + look.unread.sorted().map { partition in
                WorkerError.unexpected(
                    "\(topic)/\(partition) of \(log.address) does not answer: see weir lag and the cluster"
                )
            }
    }
}

extension CheckReport {
    /// Warns of unknown streams in `sets.json`: their sets are not in force.
    mutating func checkSets(in directory: String) throws(StoreError) {
        let sets = try PromotionJournal(directory: directory)
        let named = Set(sets.promotions.flatMap(\.streams.keys))
        for name in named.subtracting(OpenStores.streams).sorted() {
            add(
                doubtful: "\(directory)/\(PromotionJournal.fileName) promotes '\(name)', which "
                    + "is not a stream, so this has no effect. Restore the file from a "
                    + "backup, or promote again")
        }
    }
}

extension FoldedLog {
    /// All reasons why the store cannot continue with a log.
    ///
    /// - Parameter topic: the configured topic; nil for that of the store.
    func refusals(
        in log: any LogBackend, topic configured: String? = nil, nextOffsets: [Int32: Int64],
        oldestExpected: [Int32: Int64] = [:]
    ) throws(LogError) -> [LogChange] {
        let reader = try log.reader(topic: configured ?? topic)
        defer { reader.close() }
        return try refusals(
            of: reader, nextOffsets: nextOffsets, oldestExpected: oldestExpected)
    }
}
