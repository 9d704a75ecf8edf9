import EventLog
import Logging
import Program
import Store
import Streams

// What a worker does with the partitions that it is given, has to release, or keeps copies of.

extension Worker {
    /// Continues a partition at its offset in the store; a new store begins at the oldest record.
    func take(_ partitions: [Int32]) throws {
        if partitions.contains(where: { $0 >= partitionCount }) {
            try checkPartitionCount(always: true)
        }
        try follower.look(before: partitions)
        guard !partitions.isEmpty else { return }
        let committed = try follower.committedOffsets()
        let bounds = try follower.bounds(of: partitions, comparing: committed)
        let isOlderCopy = try store.isOlderCopy(
            than: committed.mapValues(\.next), taking: partitions)
        for bounds in bounds { try take(bounds, committed[bounds.partition]) }
        guard let emitter, Fold.emits else { return }
        try emitter.readRevisions(
            committed, promotions: promotions, isOlderCopy: isOlderCopy,
            keepsMetadata: follower.reader.keepsMetadata, logger: logger
        ) { _ in
            if stop.isRequested || interruption.look() { throw BrokerPatience.Stopped() }
        }
    }

    private func take(_ bounds: PartitionBounds, _ committed: GroupOffset?) throws {
        let emitted = committed?.next ?? 0
        let partition = bounds.partition
        let reader = follower.reader
        func stored() throws -> PartitionState? {
            try store.partitionStates().first { $0.partition == partition }
        }
        var state = try stored()
        if let snapshots,
            try follower.waiting({ try snapshots.restore(bounds, state, under: configuration) })
        {
            state = try stored()
        }
        if state?.oldestExpected.map({ bounds.logStart < $0 }) ?? (state == nil) {
            // The group has counted them, in another store.
            if state == nil, emitted >= bounds.earliestOffset, bounds.earliestOffset > 0,
                settings.requiresAllRecords
            {
                throw LogChange.beginningIsGone(
                    TopicPartition(topic: reader.topic, partition: partition),
                    earliest: bounds.earliestOffset, group: settings.group, store: store.path)
            }
            // If a reader cannot begin there, it throws before the store begins.
            try reader.seek(partition: partition, to: bounds.earliestOffset)
            try store.beginPartition(
                partition, at: bounds.earliestOffset, logStart: bounds.logStart, emitFrom: emitted)
            if bounds.earliestOffset > 0 {
                logger.warning(
                    "the beginning of the log was deleted: earlier records are not counted",
                    metadata: [
                        "partition": "\(partition)", "first_offset": "\(bounds.earliestOffset)",
                    ])
            }
            state = try stored()
        }
        guard let state else { return }
        if emitted > state.emitFrom || (state.records == 0 && emitted != state.emitFrom) {
            // An older copy of the store: the newer one published everything below.
            let rows = try store.dueCount(partition: partition, below: emitted)
            if rows > 0 {
                logger.warning(
                    "another store of this group has already published these partner postbacks",
                    metadata: [
                        "partition": "\(partition)", "count": "\(rows)",
                        "below_offset": "\(emitted)",
                    ])
            }
            try store.setEmission(partition: partition, to: emitted)
        }
        try follower.require(state.nextOffset, in: bounds)
        try enforceConfiguration(on: state)
        try store.restore(state, in: lanes.folds[partition: partition])
        store.expect(state)
        follower.take(bounds, at: state.nextOffset)
        follower.partitions[partition]?.begin(at: state, committed)
        notePromotion(state, committed)
        metrics?.take(state, end: bounds.endOffset)
        let last = state.nextOffset - 1
        if !state.lastRecord.isEmpty, last >= bounds.earliestOffset {
            follower.partitions[partition]?.lastStored = RecordFingerprint(
                partition: partition, offset: last, fingerprint: state.lastRecord)
            try reader.seek(partition: partition, to: last)
        } else {
            try reader.seek(partition: partition, to: state.nextOffset)
        }
        logger.info(
            "partition assigned",
            metadata: [
                "partition": "\(partition)", "next_offset": "\(state.nextOffset)",
                "end": "\(bounds.endOffset)",
            ])
    }

    /// Commits the group's offset again after a promotion: an older copy of the stores shall see that it lacks the
    /// revisions of the promotion, even if no record follows.
    private func notePromotion(_ state: PartitionState, _ committed: GroupOffset?) {
        guard let promotion = promotions.last, let committed,
            committed.promotion ?? 0 < promotion, state.nextOffset >= committed.next
        else { return }
        follower.partitions[state.partition]?.groupOffset = GroupOffset(
            committed.next, mark: committed.mark(in: state.partition), promotion: promotion)
        follower.hasUncommittedOffsets = true
    }

    /// Periodically reads the number of partitions: a larger number changes the partitions of keys. A log that does not
    /// answer is asked again later.
    func checkPartitionCount(always: Bool = false) throws {
        guard always || lastCount.duration(to: .now) > settings.lookInterval else { return }
        lastCount = .now
        guard let now = try? follower.reader.partitionCount(), now != partitionCount else { return }
        // A recreated topic may have another number too.
        try follower.lookNow()
        throw LogChange.partitionCountChanged(
            topic: follower.reader.topic, folded: partitionCount, now: now, store: store.path)
    }

    private func enforceConfiguration(on state: PartitionState) throws {
        let (folded, refusal) = try store.snapshot { snapshot in
            (
                try snapshot.configurationOfLastRecord(of: state),
                try configuration.refusal(of: state, in: snapshot, store: store.path)
            )
        }
        if let refusal { throw refusal }
        if let folded, folded.hash != configuration.hash {
            logger.notice(
                "new configuration",
                metadata: [
                    "partition": "\(state.partition)", "from_offset": "\(state.nextOffset)",
                    "hash": "\(configuration.hash)",
                ])
        }
        try store.recordEpoch(partition: state.partition, configuration: configuration)
    }

    /// Begins snapshots if it is time, and copies one partition of another worker if there is a new snapshot of it.
    func takeSnapshots() throws {
        guard let snapshots else { return }
        snapshots.look(
            follower.nextOffsets.keys, of: partitionCount, under: configuration)
        guard snapshots.hasCopy else { return }
        try foldPending()
        try finishCommit()
        try follower.waiting { try snapshots.copy(except: follower.nextOffsets.keys) }
        metrics?.setStandbyPartitions(snapshots.copies.count)
    }

    /// Ends a change of the assignment.
    func noteAssignment() {
        metrics?.updateAssignment(rememberedIDs: rememberedIDs)
        if let snapshots { metrics?.setStandbyPartitions(snapshots.copies.count) }
    }

    func drop(_ partition: Int32) {
        lanes.folds[partition: partition].forget(partition: partition)
        follower.drop(partition)
        metrics?.drop(partition)
        logger.info("partition released", metadata: ["partition": "\(partition)"])
    }
}
