import Engine
import EventLog
import Foundation
import Store

extension StreamReplay {
    private static var pauseMicroseconds: UInt32 { 200_000 }

    /// Folds up to the end, and continues with new records until it is stopped or interrupted.
    ///
    /// If live stores record the configurations, it never passes them.
    func follow(interruption: @escaping () -> Bool) throws -> WorkerEnd {
        while true {
            let end = try runToLive(interruption: interruption)
            guard end == .reachedEnd else { return end }
            let followed = try followOn(interruption: interruption)
            guard followed == .reachedEnd else { return followed }
        }
    }

    /// Like `run`, but not beyond the progress of live stores.
    func runToLive(interruption: @escaping () -> Bool) throws -> WorkerEnd {
        let reader = try openReader()
        defer { reader.close() }
        var stretches = try stretches(of: reader)
        let live = order.mode == .recorded ? try recordedEpochs(reader) : nil
        for (number, partition) in live?.partitions ?? [:] {
            guard let stretch = stretches[number] else { continue }
            let end = min(stretch.upperBound, partition.nextOffset)
            stretches[number] = min(stretch.lowerBound, end)..<end
        }
        return try fold(
            stretches, configurations(reader), identity: reader.identity(),
            partitionCount: reader.partitionCount(), interruption: interruption)
    }

    /// Continues while one configuration is in force everywhere; `reachedEnd` once another is.
    private func followOn(interruption: @escaping () -> Bool) throws -> WorkerEnd {
        let reader = try openReader()
        defer { reader.close() }
        let store = try openStore(
            identity: reader.identity(), partitionCount: reader.partitionCount())
        let last = try store.partitionStates().compactMap { state in
            try store.epochs(of: state.partition).last?.configuration
        }
        guard let configuration = last.first,
            last.allSatisfy({ $0.hash == configuration.hash })
        else { return try waitInstead(interruption: interruption) }
        let monitor = try LiveMonitor(
            hash: configuration.hash, isBounded: order.mode == .recorded,
            read: { try recordedEpochs(reader) })
        if monitor.hasChanged { return .reachedEnd }
        let states = try store.partitionStates()
        let bounded = BoundedLogReader(
            try openReader(),
            stretches: states.reduce(into: [:]) { stretches, state in
                // Before it followed the live stores, it may have been folded further than they are.
                let end = max(monitor.ends[state.partition] ?? .max, state.nextOffset)
                stretches[state.partition] = state.firstOffset..<end
            },
            refresh: monitor.isBounded ? { monitor.refresh() } : nil)
        defer { bounded.close() }
        let end = try worker(
            bounded, rules: rules(for: configuration), store: store,
            partitions: states.map(\.partition), untilEnd: false,
            interruption: { monitor.hasChanged || interruption() }
        ).run()
        return end == .interrupted && monitor.hasChanged && !interruption() ? .reachedEnd : end
    }

    /// Partitions under different configurations continue in separate ranges.
    private func waitInstead(interruption: () -> Bool) throws -> WorkerEnd {
        if stop.isRequested { return .stopped }
        if interruption() { return .interrupted }
        usleep(Self.pauseMicroseconds)
        return .reachedEnd
    }
}

/// The progress of followed live stores, and whether their configuration has changed.
private final class LiveMonitor {
    let isBounded: Bool
    private(set) var ends: [Int32: Int64] = [:]
    private(set) var hasChanged = false
    private let hash: String
    private let read: () throws -> RecordedEpochs?

    init(hash: String, isBounded: Bool, read: @escaping () throws -> RecordedEpochs?) throws {
        self.hash = hash
        self.read = read
        let live = isBounded ? try read() : nil
        self.isBounded = live != nil
        if let live { take(live) }
    }

    /// The present ends. If stores are not readable now, a later call reads them again.
    func refresh() -> [Int32: Int64] {
        if let live = try? read() { take(live) }
        return ends
    }

    private func take(_ live: RecordedEpochs) {
        for (number, partition) in live.partitions {
            guard let last = partition.epochs.last, last.configuration.hash != hash else {
                ends[number] = partition.nextOffset
                continue
            }
            hasChanged = true
        }
    }
}
