import GRDB
import Streams

extension StoreNotificationsFold: StoredFold {
    package static var memorySchema: String { StoreSchema.notifications }

    /// Reads the watermark; ids and refunds are looked up as they come.
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

    /// Notifications have nothing for partners.
    package var hasOutbox: Bool { false }

    /// Number of notifications ever accepted.
    package func rememberedIDs(atMost bound: Int) -> Int {
        storedIDs?.count ?? 0
    }

    /// Writes the ids that the batch accepted, and the refunds that it changed.
    package func writeMemory(to transaction: StoreTransaction) throws {
        try writeIDs(to: transaction)
        try writeRefunds(to: transaction)
    }

    /// Counts the ids, and gives their filter more room when it has filled up.
    package func noteCommitted(newIDs: Int) throws(StoreError) {
        try storedIDs?.noteStored(newIDs)
    }

    /// Nil for a memory that no store keeps.
    private var storedIDs: StoredIDs? { (memory as? StoredNotifications)?.ids }

    /// In order of the ids, so that neighbours on disk are written together.
    private func writeIDs(to transaction: StoreTransaction) throws {
        let row = StatementRow(
            try transaction.db.cachedStatement(sql: "INSERT INTO notification_ids VALUES (?, ?, ?)")
        )
        for (partition, ids) in admitted {
            for (id, offset) in ids.sorted(by: { $0.key < $1.key }) {
                row.begin()
                row.bind(Int64(partition))
                row.bind(id)
                row.bind(offset)
                try row.step()
                storedIDs?.insert(id, partition: partition)
                transaction.newIDs += 1
            }
        }
    }

    private func writeRefunds(to transaction: StoreTransaction) throws {
        let row = StatementRow(
            try transaction.db.cachedStatement(
                sql: "INSERT OR REPLACE INTO refunds VALUES (?, ?, ?, ?)"))
        for (partition, histories) in refunds {
            for (transactionID, history) in histories.sorted(by: { $0.key < $1.key }) {
                try write(history, of: transactionID, partition: partition, to: row)
            }
        }
    }

    private func write(
        _ history: RefundHistory, of transactionID: TransactionID, partition: Int32,
        to row: StatementRow
    ) throws {
        row.begin()
        row.bind(Int64(partition))
        switch transactionID {
        case .number(let number): row.bind(number)
        case .text(let text): row.bind(copyOf: text)
        }
        row.bind(history.storedCancellations)
        row.bind(history.earlyReversals)
        try row.step()
    }
}
