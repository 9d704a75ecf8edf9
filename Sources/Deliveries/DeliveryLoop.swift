import Engine
import EventLog
import JSON
import Logging
import Program
import Store
import Streams

/// Ingests documents from the log into the store, and sends them from there. Runs on one plain thread.
package final class DeliveryLoop {
    struct Settings {
        var assignment: LogAssignment
        var untilEnd: Bool
        var batchRecords: Int
        var maxRecordBytes: Int
        var waitMilliseconds: Int
        var lookInterval = Duration.seconds(30)
    }

    /// The wait of a read of the log while requests are in flight.
    private static let busyWaitMilliseconds = 20
    /// Timeout at shutdown for requests in flight.
    private static let stopMilliseconds = 10_000
    private static let batchBytes = 32 << 20
    /// Delivered documents are remembered for longer than the topic retains its records.
    private static let keptMilliseconds: Int64 = 100 * 86_400_000

    private let store: DeliveryStore
    private let follower: TopicFollower
    private let dispatcher: Dispatcher
    private var partners: KnownPartners
    private var files: FollowedPartners?
    private let parser: JSONParser
    private let clock: any DeliveryClock
    private let settings: Settings
    private let stop: StopSignal
    private let logger: Logger
    private let metrics: DeliveryMetrics?
    private let batch = RecordBatch()
    /// Whether partitions were assigned, perhaps none. Until then nothing is sent: the store may be an older copy.
    private var hasTaken = false
    private var lastLook = ContinuousClock.now
    private var lastPruningMilliseconds: Int64?
    private var lastTurnMilliseconds: Int64 = .max
    private var hasBegun = false

    init(
        store: DeliveryStore, reader: any LogReader, dispatcher: Dispatcher,
        partners: KnownPartners, parser: JSONParser, clock: any DeliveryClock, settings: Settings,
        stop: StopSignal, logger: Logger, metrics: DeliveryMetrics? = nil,
        files: FollowedPartners? = nil, patience: BrokerPatience? = nil,
        openReader: @escaping LogIdentityCheck.OpenReader
    ) {
        self.store = store
        follower = TopicFollower(
            reader, for: store, lookInterval: settings.lookInterval, patience: patience,
            openReader: openReader)
        self.dispatcher = dispatcher
        self.partners = partners
        self.parser = parser
        self.clock = clock
        self.settings = settings
        self.stop = stop
        self.logger = logger
        self.metrics = metrics
        self.files = files
    }

    /// Runs until a stop is requested. With `untilEnd` it runs until everything that was in the log at the start is
    /// ingested and everything due was sent once.
    func run() throws {
        while try turn() {}
    }

    /// Ingests documents, and sends due ones. False if the work is over; do not call it again then.
    package func turn() throws -> Bool {
        if !hasBegun {
            hasBegun = true
            try follower.subscribe(settings.assignment)
            try dispatcher.resume()
        }
        do {
            if !stop.isRequested, try step() { return true }
        } catch is BrokerPatience.Stopped {
            // The next start reads records again that were not ingested.
            logger.info("stopped while the log does not answer")
        }
        try finish()
        logger.info("stopped", metadata: ["in_flight": "\(dispatcher.inFlightCount)"])
        return false
    }

    /// False when nothing is left to do.
    private func step() throws -> Bool {
        metrics?.turn()
        if let known = files?.look() {
            partners = known.partners
            try dispatcher.use(known.routes, off: known.partners.off)
        }
        try mindClock()
        let isBusy = dispatcher.inFlightCount > 0
        let reading = try follower.read(
            into: batch, maxRecords: settings.batchRecords, maxBytes: Self.batchBytes,
            waitMilliseconds: isBusy ? 0 : idleMilliseconds())
        switch reading {
        case .assigned(let partitions): try take(partitions)
        case .revoked(let partitions):
            try commitOffsets()
            for partition in partitions { follower.drop(partition) }
        case .records: try ingest()
        case .idle:
            if follower.isCommitDue { try commitOffsets() }
            try follower.lookPeriodically()
        }
        follower.endRepetitions()
        var sent = 0
        if maySend {
            sent = try dispatcher.turn(
                waitMilliseconds: reading == .idle ? Self.busyWaitMilliseconds : 0)
        } else {
            try dispatcher.collect(waitMilliseconds: 0)
        }
        try look()
        guard settings.untilEnd, sent == 0, isAtEnd else { return true }
        return try !dispatcher.isSettled()
    }

    /// The store reports its offsets to the group before it sends anything: by them an older copy is recognised.
    private var maySend: Bool {
        hasTaken && !follower.isRepeating && !follower.hasUncommittedOffsets
    }

    /// The wait for records while nothing is in flight.
    private func idleMilliseconds() throws -> Int {
        guard maySend, let due = try dispatcher.nextDueMilliseconds() else {
            return settings.waitMilliseconds
        }
        let rest = due - clock.nowMilliseconds
        return Int(max(0, min(rest, Int64(settings.waitMilliseconds))))
    }

    /// Waits for requests in flight. The next start repeats a request without an answer, under the same key.
    private func finish() throws {
        let deadline = ContinuousClock.now + .milliseconds(Self.stopMilliseconds)
        while dispatcher.inFlightCount > 0, ContinuousClock.now < deadline {
            try dispatcher.collect(waitMilliseconds: 100)
        }
        try commitOffsets()
    }

    private func ingest() throws {
        try follower.checkContinuity(of: batch, times: false)
        var records: [IncomingRecord] = []
        records.reserveCapacity(batch.count)
        var next = follower.nextOffsets
        for index in 0..<batch.count {
            let record = batch[index]
            records.append(incoming(record))
            next[record.partition] = record.offset + 1
        }
        let last = try follower.confirm(batch)
        var known: [Int32: RecordFingerprint] = [:]
        for partition in last.keys {
            known[partition] = try follower.mark(of: partition, below: next[partition] ?? 0)
        }
        let counts = try store.ingest(
            records, topic: follower.reader.topic, nextOffsets: next, last: last, known: known,
            partners: partners, nowMilliseconds: clock.nowMilliseconds)
        for (partition, offset) in next { follower.advance(partition, to: offset) }
        metrics?.note(counts)
        try commitOffsets()
    }

    private func incoming(_ record: RecordView) -> IncomingRecord {
        let bytes = record.value.map { Array($0) } ?? []
        let document = Result { () throws(UnreadableDocument) in
            guard record.value != nil else { throw UnreadableDocument("the value is null") }
            guard bytes.count <= settings.maxRecordBytes else {
                throw UnreadableDocument(
                    "the value has \(bytes.count) bytes, but at most \(settings.maxRecordBytes) are allowed"
                )
            }
            if let type = record.headers.first(named: "ce_type"),
                !type.elementsEqual("partner.postback".utf8)
            {
                throw UnreadableDocument("ce_type is not partner.postback")
            }
            return try DeliveryDocument(bytes, parser: parser)
        }
        return IncomingRecord(
            partition: record.partition, offset: record.offset, bytes: bytes, document: document)
    }

    private func commitOffsets() throws {
        // A lower offset would hide that the store is an older copy.
        follower.hasUncommittedOffsets = follower.isRepeating
        var offsets: [Int32: GroupOffset] = [:]
        for (partition, followed) in follower.partitions where followed.repeatedUntil == nil {
            guard let next = followed.nextOffset else { continue }
            var offset = GroupOffset(next, mark: try follower.mark(of: partition, below: next))
            offset.note += " \(followed.groupNote)"
            offsets[partition] = offset
        }
        try follower.commit(offsets)
    }

    private var isAtEnd: Bool { !follower.ends.isEmpty && follower.isAtEnd }

    /// Prunes old deliveries every hour. Also, at start and after the clock has gone back, repairs times that were
    /// set by a clock that was ahead.
    private func mindClock() throws {
        let now = clock.nowMilliseconds
        let hasGoneBack = now < lastTurnMilliseconds - DeliveryStore.clockSlackMilliseconds
        lastTurnMilliseconds = now
        if let last = lastPruningMilliseconds, now - last <= 3_600_000, !hasGoneBack { return }
        lastPruningMilliseconds = now
        try store.prune(changedBefore: now - Self.keptMilliseconds)
        let count = try store.bringBack(nowMilliseconds: now)
        guard count > 0 else { return }
        logger.warning(
            "deliveries waited longer than the schedule allows, because the clock was ahead: they are due now",
            metadata: ["count": "\(count)"])
    }

    /// Updates the metrics at most once a second.
    private func look() throws {
        guard let metrics, lastLook.duration(to: .now) > .seconds(1) else { return }
        lastLook = .now
        metrics.setPending(try store.pending(), nowMilliseconds: clock.nowMilliseconds)
        metrics.setDisabled(try store.disabledPartners())
        do {
            let nextOffsets = follower.nextOffsets
            let bounds = try follower.reader.bounds(of: nextOffsets.keys.sorted())
            let ends = Dictionary(uniqueKeysWithValues: bounds.map { ($0.partition, $0.endOffset) })
            metrics.setPositions(nextOffsets, ends: ends)
            metrics.setReady(unless: nextOffsets.isEmpty ? "no partition is assigned" : nil)
        } catch {
            metrics.setReady(unless: "\(error)")
        }
    }
}

// MARK: Assignment of partitions

extension DeliveryLoop {
    /// Starts at the store's offset, at the group's if another instance got further, or otherwise at the oldest
    /// record. A store that lacks records it once ingested is an older copy: it ingests them again.
    private func take(_ partitions: [Int32]) throws {
        hasTaken = true
        let reader = follower.reader
        try follower.look(before: partitions)
        let identity = try store.identity()
        let committed = try follower.committedOffsets()
        let stored = try store.nextOffsets()
        func lostStart(_ partition: Int32, _ known: PartitionOwners) -> Int64? {
            known.lostStart(
                of: identity, at: stored[partition] ?? 0, before: committed[partition]?.next ?? 0)
        }
        let bounds = try follower.bounds(of: partitions, comparing: committed)
        var told: [Int32: RecordFingerprint] = [:]
        for bounds in bounds {
            let partition = bounds.partition
            let group = committed[partition]
            var known = PartitionOwners(note: group?.note ?? "")
            // Without a note about owners, the store was alone. On the embedded log, operators assign partitions to
            // instances.
            if group == nil || !reader.keepsNotes, stored[partition] != nil {
                known.begin(identity, at: 0)
            }
            let lost = lostStart(partition, known)
            let next =
                lost ?? [stored[partition], group?.next].compactMap(\.self).max()
                ?? bounds.earliestOffset
            if let lost {
                logger.warning(
                    "this store is an older copy: later documents are ingested again and may be sent again",
                    metadata: [
                        "partition": "\(partition)", "from_offset": "\(lost)",
                        "to_offset": "\(group?.next ?? lost)",
                    ])
            }
            // Records that an older copy once had may be gone from the log. Records that no store has ingested must
            // not be gone.
            let start = lost == nil ? next : max(next, bounds.earliestOffset)
            if let lost, lost < start {
                logger.warning(
                    "the log no longer contains documents that this older copy lacks: pending ones among them are never sent",
                    metadata: [
                        "partition": "\(partition)", "from_offset": "\(lost)",
                        "to_offset": "\(start)",
                    ])
            }
            try follower.require(start, in: bounds)
            follower.take(bounds, at: start)
            // Not only to where the group is: it may not have taken the last offset that this store reported.
            if lost != nil { follower.partitions[partition]?.repeatedUntil = bounds.endOffset }
            if let mark = group?.mark(in: partition), mark.offset >= stored[partition] ?? 0 {
                told[partition] = mark
                follower.mark(mark)
            }
            known.begin(identity, at: min(start, group?.next ?? start))
            follower.partitions[partition]?.groupNote = known.note
            if start > group?.next ?? 0 { follower.hasUncommittedOffsets = true }
            try reader.seek(partition: partition, to: start)
            logger.info(
                "partition assigned",
                metadata: [
                    "partition": "\(partition)", "next_offset": "\(next)",
                    "end": "\(bounds.endOffset)",
                ])
        }
        for (partition, group) in committed.sorted(by: { $0.key < $1.key })
        where follower.partitions[partition]?.nextOffset == nil {
            guard let lost = lostStart(partition, PartitionOwners(note: group.note)) else {
                continue
            }
            logger.warning(
                "this store is an older copy and was not assigned the partition: documents that it lacks may never be sent",
                metadata: [
                    "partition": "\(partition)", "from_offset": "\(lost)",
                    "to_offset": "\(group.next)",
                    "remedy": "run only this instance until it has caught up",
                ])
        }
        guard !partitions.isEmpty else { return }
        _ = try store.ingest(
            [], topic: reader.topic, nextOffsets: follower.nextOffsets, known: told,
            partners: partners,
            nowMilliseconds: clock.nowMilliseconds)
        metrics?.setPositions(follower.nextOffsets, ends: follower.ends)
        metrics?.setReady(unless: nil)
    }
}
