import Foundation
import GRDB
import Streams

/// The ids of a table that are remembered for ever, on disk behind a small filter: a new id is told by
/// the filter alone.
final class StoredIDs {
    private unowned let store: AggregateStore
    private let table: MemoryTable
    private var filter = IDFilter(capacity: 0)

    /// Reads the ids of a store's table.
    init(store: AggregateStore, table: MemoryTable) throws(StoreError) {
        self.store = store
        self.table = table
        try fillFilter()
    }

    /// False for an id that is certainly not in the table.
    func mayContain(_ id: RecordID, partition: Int32) -> Bool {
        filter.mayContain(id, partition: partition)
    }

    /// Number of ids that are stored.
    private(set) var count = 0

    /// Takes note of an id that is being stored: from now on it may be there.
    func insert(_ id: RecordID, partition: Int32) {
        filter.insert(id, partition: partition)
    }

    /// Takes note that so many ids were stored that were not there before, and makes the filter larger
    /// when it has become too full to tell. Not to be called within a commit.
    func noteStored(_ newIDs: Int) throws(StoreError) {
        count += newIDs
        if filter.isFull { try fillFilter() }
    }

    private func fillFilter() throws(StoreError) {
        (count, filter) = try store.read { db in
            let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table.name)") ?? 0
            var filter = IDFilter(capacity: count * 2)
            let rows = try Row.fetchCursor(db, sql: "SELECT partition, id FROM \(table.name)")
            while let row = try rows.next() {
                let bytes: Data = row[1]
                filter.insert(RecordID(bytes: bytes), partition: row[0])
            }
            return (count, filter)
        }
    }
}
