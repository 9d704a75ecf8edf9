import EventLog

/// Answers requests in order, and keeps the states of installs consistent with the log. It returns an answer only
/// after its event is durable in the log. One thread uses it.
package final class InstallLedger {
    package static let topic = "conversion-updates"

    private let log: any LogBackend
    private let reader: any LogReader
    private let store: InstallStore
    private let models: ConversionApps
    private let batch = RecordBatch()
    private var writer: (any LogWriter)?
    private let partitionCount: Int32
    private var progress: [Int32: TopicProgress]
    /// Whether the log may have records that the store lacks.
    package private(set) var isBehind = true
    private var followedAt = ContinuousClock.now

    /// The interval of the check for records of other collectors.
    private static let followInterval = Duration.seconds(1)
    /// The time limit for reading up to the log's end.
    private static let followLimit = Duration.seconds(60)
    private static let batchRecords = 1000
    private static let batchBytes = 8 << 20

    /// Opens the file of states. `catchUp` reads the missing records.
    package init(
        log: any LogBackend, storePath: String, models: ConversionApps,
        warn: @escaping @Sendable (String) -> Void
    ) throws(ConversionServiceError) {
        self.log = log
        self.models = models
        let topic: (identity: String, partitionCount: Int32)
        do throws(LogError) {
            reader = try log.reader(topic: Self.topic)
            topic = (try reader.identity(), try reader.partitionCount())
            try reader.subscribe(.all)
        } catch {
            throw .log(error)
        }
        store = try InstallStore(
            path: storePath, topic: Self.topic, logIdentity: topic.identity,
            partitionCount: topic.partitionCount, warn: warn)
        partitionCount = topic.partitionCount
        progress = try store.progress()
    }

    /// Reads the records that the file lacks. If the file is unusable, reads everything into a new one.
    package func catchUp() throws(ConversionServiceError) {
        guard isBehind else { return }
        do throws(ConversionServiceError) {
            try follow()
        } catch {
            guard error.isOfFile else { throw error }
            try recreate(error)
            try follow()
        }
    }

    /// Notes that others may have written to the topic. `catchUp` looks whether they have.
    package func doubt() { isBehind = true }

    /// Begins with an empty file.
    package func recreate(_ reason: ConversionServiceError) throws(ConversionServiceError) {
        isBehind = true
        try store.recreate(reason)
        progress = try store.progress()
    }

    /// Answers requests in order. Their events are one append to the log.
    package func answer(
        _ requests: [(request: ConversionRequest, nowMilliseconds: Int64)]
    ) throws(ConversionServiceError) -> [ConversionAnswer] {
        if isBehind || followedAt.duration(to: .now) > Self.followInterval { try follow() }
        var states: [InstallKey: InstallState] = [:]
        var answers: [ConversionAnswer] = []
        var records: [OutgoingRecord] = []
        // The partitions' progress with these records, if no records of other collectors come between them.
        var then = progress
        for (request, now) in requests {
            let key = request.install
            let partition = partition(of: key)
            var passed = then[partition] ?? TopicProgress(nextOffset: 0)
            let stored = if let pending = states[key] { pending } else { try store.state(of: key) }
            let state = passed.unexpired(stored, atMilliseconds: now)
            let (answer, update) = ConversionEngine.answer(
                request, state: state, model: models.model(of: request.appID), nowMilliseconds: now)
            states[key] = InstallState.after(update, state)
            passed.pass(passed.nextOffset, atMilliseconds: update.receivedAtMilliseconds)
            then[partition] = passed
            answers.append(answer)
            do {
                records.append(try update.record(topic: Self.topic))
            } catch {
                throw .unwritable(detail: "\(error)")
            }
        }
        try keep(states, append(records), then)
        return answers
    }

    package func close() {
        reader.close()
    }

    private func append(
        _ records: [OutgoingRecord]
    ) throws(ConversionServiceError) -> [RecordPosition] {
        do throws(LogError) {
            if writer == nil { writer = try log.writer() }
            return try writer?.append(records) ?? []
        } catch {
            // Some of the records may be in the log.
            writer = nil
            isBehind = true
            throw .log(error)
        }
    }

    /// Stores the states if no other records are between these. Otherwise it reads all again in the log's order,
    /// which decides.
    private func keep(
        _ states: [InstallKey: InstallState], _ positions: [RecordPosition],
        _ then: [Int32: TopicProgress]
    ) throws(ConversionServiceError) {
        var next = progress.mapValues(\.nextOffset)
        let ordered = positions.sorted { ($0.partition, $0.offset) < ($1.partition, $1.offset) }
        for position in ordered {
            guard position.offset == next[position.partition] else {
                isBehind = true
                return try follow()
            }
            next[position.partition] = position.offset + 1
        }
        guard next == then.mapValues(\.nextOffset) else {
            isBehind = true
            return try follow()
        }
        isBehind = true
        try store.store(states, progress: then, partition: partition)
        progress = then
        isBehind = false
    }

    private func partition(of key: InstallKey) -> Int32 {
        KeyPartitioner.partition(
            key: Array(key.installID.utf8), value: nil, partitionCount: partitionCount)
    }
}

extension InstallLedger {
    private func follow() throws(ConversionServiceError) {
        do {
            try readOn()
        } catch let error as ConversionServiceError {
            throw error
        } catch let error as LogError {
            throw .log(error)
        } catch {
            throw .unwritable(detail: "\(error)")
        }
        followedAt = .now
        isBehind = false
    }

    private func readOn() throws {
        var missing: [Int32: Int64] = [:]
        for bounds in try reader.bounds() {
            let next = progress[bounds.partition]?.nextOffset ?? bounds.earliestOffset
            guard next >= bounds.earliestOffset else {
                throw ConversionServiceError.otherLog(
                    path: store.path,
                    detail: "the log no longer contains records that the file lacks")
            }
            guard next <= bounds.endOffset else {
                throw ConversionServiceError.otherLog(
                    path: store.path, detail: "the log ends before the last record that was read")
            }
            if progress[bounds.partition] == nil {
                progress[bounds.partition] = TopicProgress(nextOffset: next)
            }
            if next < bounds.endOffset { missing[bounds.partition] = bounds.endOffset }
        }
        guard !missing.isEmpty else { return }
        try seek(Array(missing.keys))
        let deadline = ContinuousClock.now + Self.followLimit
        while missing.contains(where: { (reader.position(partition: $0.key) ?? 0) < $0.value }) {
            let reading = try reader.read(
                into: batch, maxRecords: Self.batchRecords, maxBytes: Self.batchBytes,
                waitMilliseconds: 100)
            switch reading {
            case .assigned(let partitions): try seek(partitions)
            case .records: try applyBatch()
            case .idle, .revoked: break
            }
            guard ContinuousClock.now < deadline || reading == .records else {
                throw LogError.busy(operation: "continue reading", address: log.address)
            }
        }
    }

    /// A partition that is not assigned yet gets its position at the assignment.
    private func seek(_ partitions: [Int32]) throws(LogError) {
        for partition in partitions where reader.position(partition: partition) != nil {
            try reader.seek(partition: partition, to: progress[partition]?.nextOffset ?? 0)
        }
    }

    private func applyBatch() throws(ConversionServiceError) {
        var states: [InstallKey: InstallState] = [:]
        var then = progress
        for index in 0..<batch.count {
            let record = batch[index]
            var passed = then[record.partition] ?? TopicProgress(nextOffset: 0)
            guard record.offset >= passed.nextOffset else { continue }
            if let digest = ErasureNotice.digest(in: record) {
                passed.pass(record.offset, atMilliseconds: nil)
                then[record.partition] = passed
                // The notice erases what was read before it.
                try store.store(states, progress: then, partition: partition)
                progress = then
                states = [:]
                try store.erase(idDigest: digest, partition: record.partition)
                continue
            }
            // The worker rejects other records of the topic.
            let update = record.value.flatMap { ConversionUpdate.read($0) }
            if let update {
                let key = update.install
                let stored =
                    if let pending = states[key] { pending } else { try store.state(of: key) }
                let state = passed.unexpired(stored, atMilliseconds: update.receivedAtMilliseconds)
                states[key] = InstallState.after(update, state)
            }
            passed.pass(record.offset, atMilliseconds: update?.receivedAtMilliseconds)
            then[record.partition] = passed
        }
        try store.store(states, progress: then, partition: partition)
        progress = then
    }
}

struct TopicProgress: Equatable {
    var nextOffset: Int64
    /// The latest instant of its updates, in milliseconds since 1970: the partition's time, which decides when
    /// installs are forgotten. It follows from the log and never decreases.
    var latestMilliseconds: Int64 = .min

    /// `instant` is that of the record's update; nil for another record.
    mutating func pass(_ offset: Int64, atMilliseconds instant: Int64?) {
        nextOffset = offset + 1
        latestMilliseconds = max(latestMilliseconds, instant ?? .min)
    }

    /// Nil if the install is forgotten at this instant.
    func unexpired(_ state: InstallState?, atMilliseconds instant: Int64) -> InstallState? {
        guard let state, max(latestMilliseconds, instant) < state.expiryMilliseconds else {
            return nil
        }
        return state
    }
}
