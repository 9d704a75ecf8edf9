import GRDB
import Streams

extension PostbacksFold: StoredFold {
    package static var memorySchema: String { StoreSchema.postbacks }

    /// Reads the watermark; ids are looked up as they come.
    package func restoreMemory(
        of partition: PartitionState, from store: AggregateStore
    ) throws(StoreError) {
        restore(
            partition: partition.partition,
            watermarkMilliseconds: partition.watermarkMilliseconds)
    }

    /// Drops the watermark of a partition.
    package func forgetMemory(of partition: Int32) {
        forget(partition: partition)
    }

    /// True when the batch has something for partners.
    package var hasOutbox: Bool { !outbox.isEmpty }

    /// Number of postbacks ever accepted.
    package func rememberedIDs(atMost bound: Int) -> Int {
        storedIDs?.count ?? 0
    }

    /// Writes the ids that the batch accepted, every copy that it decoded, and the outbox.
    package func writeMemory(to transaction: StoreTransaction) throws {
        try writeIDs(to: transaction)
        try writeCopies(to: transaction)
        try writeOutbox(to: transaction)
    }

    /// Counts the ids, and gives their filter more room when it has filled up.
    package func noteCommitted(newIDs: Int) throws(StoreError) {
        try storedIDs?.noteStored(newIDs)
    }

    /// Nil for a memory that no store keeps.
    private var storedIDs: StoredIDs? { (memory as? PostbackIDs)?.ids }

    /// In order of the ids, so that neighbours on disk are written together.
    private func writeIDs(to transaction: StoreTransaction) throws {
        let row = StatementRow(
            try transaction.db.cachedStatement(
                sql: "INSERT OR REPLACE INTO postback_ids VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"))
        for (partition, copies) in accepted {
            for (id, copy) in copies.sorted(by: { $0.key < $1.key }) {
                // A better copy takes the place of the one before.
                if try memory.known(id, partition: partition) == nil { transaction.newIDs += 1 }
                row.begin()
                row.bind(Int64(partition))
                row.bind(id)
                row.bind(Int64(copy.rank))
                row.bind(copy.offset)
                row.bind(optional: copy.values.fineValue.map(Int64.init))
                row.bind(optional: copy.values.coarseValue?.rawValue)
                row.bind(optional: copy.values.country)
                row.bind(optional: copy.values.interaction)
                row.bind(optional: copy.publishedText)
                try row.step()
                storedIDs?.insert(id, partition: partition)
            }
        }
    }

    private func writeCopies(to transaction: StoreTransaction) throws {
        let row = StatementRow(
            try transaction.db.cachedStatement(
                sql: """
                    INSERT INTO postback_copies
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """
            ))
        for copy in copies {
            row.begin()
            row.bind(Int64(copy.partition))
            row.bind(copy.offset)
            row.bind(copy.id)
            row.bind(text: copy.route.name)
            row.bind(copy.timestampMilliseconds)
            row.bind(OutcomeKey.table.measures[copy.outcome.rawValue])
            row.bind(copy.verdict.name)
            row.bind(optional: copy.values.fineValue.map(Int64.init))
            row.bind(optional: copy.values.coarseValue?.rawValue)
            row.bind(optional: copy.values.country)
            effects.symbols.withBytes(of: copy.campaign.adNetworkID) { row.bind(text: $0) }
            effects.symbols.withBytes(of: copy.campaign.campaign) { row.bind(text: $0) }
            row.bind(copy.campaign.appID)
            row.bind(copy.campaign.sourceAppID)
            row.bind(Int64(copy.sequenceIndex))
            row.bind(copy.hasSourceIdentifier ? 1 : 0)
            row.bind(copy.didWin ? 1 : 0)
            try row.step()
        }
    }

    private func writeOutbox(to transaction: StoreTransaction) throws {
        guard !outbox.isEmpty else { return }
        let insertion = try transaction.db.cachedStatement(
            sql: """
                INSERT INTO outbox SELECT ?1, outbox_next, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
                FROM partitions WHERE partition = ?1
                """)
        let counter = try transaction.db.cachedStatement(
            sql: "UPDATE partitions SET outbox_next = outbox_next + 1 WHERE partition = ?")
        let row = StatementRow(insertion)
        for postback in outbox {
            row.begin()
            row.bind(Int64(postback.partition))
            row.bind(postback.partner)
            row.bind(postback.id)
            row.bind(postback.revision)
            row.bind(postback.originOffset)
            row.bind(postback.adNetworkID)
            row.bind(postback.campaign)
            row.bind(postback.hasSourceIdentifier ? 1 : 0)
            row.bind(postback.appID)
            row.bind(postback.sourceAppID)
            row.bind(postback.document)
            try row.step()
            try counter.execute(arguments: [postback.partition])
        }
    }
}
