import Foundation
import GRDB
import Streams

/// Every notification ever accepted, and the refunds of every transaction.
package final class StoredNotifications: StoreNotificationMemory {
    private let store: AggregateStore
    /// What is stored.
    let ids: StoredIDs

    /// Reads the ids of a store.
    package init(store: AggregateStore) throws(StoreError) {
        self.store = store
        ids = try StoredIDs(store: store, table: "notification_ids")
    }

    /// Offset of the record by which an id was accepted and stored.
    package func offset(of id: RecordID, partition: Int32) throws -> Int64? {
        guard ids.mayContain(id, partition: partition) else { return nil }
        return try store.queue.unsafeReentrantRead { db in
            try Int64.fetchOne(
                db.cachedStatement(
                    sql: "SELECT offset FROM notification_ids WHERE partition = ? AND id = ?"),
                arguments: [partition, id.bytes])
        }
    }

    /// The stored history of a transaction's refunds.
    package func refunds(
        ofTransaction transactionID: TransactionID, partition: Int32
    ) throws -> RefundHistory {
        try store.queue.unsafeReentrantRead { db in
            try Row.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT cancellations, early_reversals FROM refunds
                        WHERE partition = ? AND transaction_id = ?
                        """),
                arguments: [partition, transactionID.stored]
            ).map { row in RefundHistory(stored: row[0], earlyReversals: row[1]) }
                ?? RefundHistory()
        }
    }
}

extension TransactionID {
    /// A number as such, a text as its bytes: GRDB would end it at a NUL.
    fileprivate var stored: DatabaseValue {
        switch self {
        case .number(let number): number.databaseValue
        case .text(let text): Data(text).databaseValue
        }
    }
}

extension RefundHistory {
    /// Reads what `storedCancellations` wrote.
    init(stored: String, earlyReversals: Int64) {
        let cancellations = stored.split(separator: ",").map { part in
            let sides = part.split(separator: "=", omittingEmptySubsequences: false)
            return Cancellation(
                dateMilliseconds: sides.first.flatMap { Int64($0) },
                openMicros: sides.dropFirst().first.flatMap { Int64($0) })
        }
        self.init(cancellations: cancellations, earlyReversals: earlyReversals)
    }

    /// The cancellations as `date=micros`, joined by commas; what is absent is left empty.
    var storedCancellations: String {
        cancellations.map { cancellation in
            let date = cancellation.dateMilliseconds.map { "\($0)" } ?? ""
            return date + "=" + (cancellation.openMicros.map { "\($0)" } ?? "")
        }.joined(separator: ",")
    }
}
