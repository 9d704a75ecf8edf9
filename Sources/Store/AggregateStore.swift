import DatabaseFiles
import EventLog
import Foundation
import GRDB
import Streams

/// The store of one stream, opened by its only worker: aggregates, dedupe memory, refused records, outbox and the
/// next offsets, in one SQLite file.
///
/// All commits and checkpoints happen on one connection, because two that checkpoint can corrupt the file with SQLite
/// 3.40. They are durable when they return. Used from one thread.
package final class AggregateStore {
    package let path: String
    package let stream: String
    /// Whether the stream has documents for partners.
    let emits: Bool
    let queue: DatabaseQueue
    /// The ids that the stream remembers permanently; nil for a stream with a window.
    private(set) var ids: StoredIDs?
    private let lock: StoreLock
    /// How the file stores the aggregates, by their names.
    private let layouts: [String: TableLayout]
    /// What opening the store has added to its bookkeeping.
    package let changedInPlace: [String]
    private let rowNumbers = RowNumbers()
    private var positions: [Int32: Int64] = [:]
    private var commitUnderWay: CommitUnderWay?
    /// The partitions' next offsets before the commit under way, if that also writes.
    private var positionsBefore: [Int32: Int64]?
    /// For how many days before the largest timestamp of a partition the store notes which records added to a row, so
    /// that a number is explained without folding again; 0 for none.
    package var explainDays = 90
    /// What commits change, if snapshots are taken.
    let segmentChanges = SegmentChanges()
    package var notesChanges = false
    /// Fingerprints from the batches that are folded and not stored.
    private var gathered = FoundRecords()

    private static let pageSize = 8192

    /// Opens the store of a fold's stream, and creates it if it is missing. Rejects an emptied file: a new file gets
    /// its name only once it has its tables, so no crash leaves an empty one.
    package init(
        path: String, fold: (some StreamFold).Type, topic: String, logIdentity: String,
        partitionCount: Int32
    ) throws(StoreError) {
        self.path = path
        stream = fold.streamName
        emits = fold.emits
        lock = try StoreLock(newStore: path)
        let schema = StoreSchema.text(of: fold)
        func fill(_ db: Database) throws {
            try db.execute(
                sql: "INSERT INTO store VALUES (?, ?, ?, ?)",
                arguments: [fold.streamName, topic, logIdentity, partitionCount])
        }
        var found = stat()
        if lstat(path, &found) != 0, errno == ENOENT {
            try StoreError.naming("create", path) {
                try StoreSchema.mark(of: fold)
                    .makeFile(schema, at: path, pageSize: Self.pageSize, fill)
            }
        } else {
            try StoreReader.requireStoreContent(path)
        }
        (queue, layouts, changedInPlace) = try StoreError.naming("open", path) {
            () -> (DatabaseQueue, [String: TableLayout], [String]) in
            let queue = try Self.open(path)
            return try queue.inDatabase { db in
                // A link to a missing file, or the remains of an earlier version that was killed.
                if try StoreSchema.checkVersion(db, path: path) == 0 {
                    try StoreSchema.mark(of: fold).make(schema, in: db, fill)
                }
                let found = try String.fetchOne(db, sql: "SELECT stream FROM store") ?? ""
                guard found == fold.streamName else {
                    throw StoreError.otherStream(path: path, found: found, wanted: fold.streamName)
                }
                try StoreSchema.requireColumns(of: fold, in: db, path: path)
                try StoreReader.requireSums(db, path: path)
                let changed = try StoreSchema.changeInPlace(db)
                var layouts: [String: TableLayout] = [:]
                for table in fold.tables + [OutcomeKey.table] {
                    layouts[table.name] = try TableLayout(of: table, db)
                }
                return (queue, layouts, changed)
            }
        }
        if let table = fold.memoryTables.first(where: \.hasIDs) {
            ids = try StoredIDs(store: self, table: table)
        }
    }

    deinit {
        // The order matters: first the last commit, then the connection, because closing it checkpoints, and then the
        // lock.
        _ = try? awaitCommit()
        try? queue.close()
    }

    private static var configuration: Configuration {
        // Checkpoints every 16 MiB: batches write the same pages again and again, and a checkpoint copies only the
        // last version of each. If a reader made the -wal grow, it is truncated afterwards. The cache holds the rows
        // of the hours that are being folded; a larger one would only fill up with history.
        //
        // `Configuration.journalMode` would commit an empty transaction without a sync. After a power loss the log
        // would then differ from that of a program that syncs each commit.
        var configuration = CheckedPages.configuration(
            pageSize: pageSize,
            pragmas: """
                PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 2048;
                PRAGMA journal_size_limit = 16777216
                """)
        // A batch's transaction stays open until its commit, which is the next item of the queue.
        configuration.allowsUnsafeTransactions = true
        return configuration
    }

    /// While another process reads a new file, it cannot switch to a write-ahead log, and SQLite does not wait for
    /// that by itself.
    private static func open(_ path: String) throws -> DatabaseQueue {
        let deadline = ContinuousClock.now + .seconds(10)
        while true {
            do {
                return try DatabaseQueue(path: path, configuration: configuration)
            } catch let error as DatabaseError
                where error.resultCode == .SQLITE_BUSY && ContinuousClock.now < deadline
            {
                usleep(20_000)
            }
        }
    }

    /// The folded topic. Its identity, which distinguishes it from others of its name, and its number of partitions
    /// are from the beginning of the store.
    package func origin() throws(StoreError) -> (
        topic: String, logIdentity: String, partitionCount: Int32
    ) {
        let row = try read { try Row.fetchOne($0, sql: "SELECT * FROM store") }
        return (row?["topic"] ?? "", row?["log_identity"] ?? "", row?["partition_count"] ?? 0)
    }

    package func setPartitionCount(_ count: Int32) throws(StoreError) {
        try commit {
            try $0.execute(sql: "UPDATE store SET partition_count = ?", arguments: [count])
        }
    }

    func read<Result>(_ body: (Database) throws -> Result) throws(StoreError) -> Result {
        // A commit that also writes may fail for a sum, which its worker has to learn of. The queue waits for it anyway.
        if positionsBefore == nil { try awaitCommit() }
        return try StoreError.naming("read", path) { try queue.inDatabase(body) }
    }

    /// Throws `moved` unless the file is still the one at the path.
    package func requireInPlace() throws(StoreError) {
        try read(CheckedPages.requireInPlace)
    }

    /// Runs `body` in one durable transaction.
    func commit(_ body: (Database) throws -> Void) throws(StoreError) {
        try beginCommit(body)
        try awaitCommit()
    }

    /// Runs `body` in a transaction, and commits it in the background.
    private func beginCommit(_ body: (Database) throws -> Void) throws(StoreError) {
        try awaitCommit()
        do {
            try queue.inDatabase { db in
                try begin(db)
                do {
                    try self.ids?.begin(db)
                    try body(db)
                } catch {
                    try? db.rollback()
                    throw error
                }
            }
        } catch {
            rowNumbers.removeAll()
            ids?.rollBack()
            throw StoreError(error, operation: "write", path: path)
        }
        commitUnderWay = CommitUnderWay(on: queue)
    }

    private func begin(_ db: Database) throws {
        try CheckedPages.requireInPlace(db)
        try db.beginTransaction(.immediate)
    }

    /// Waits until all stored data is durable.
    ///
    /// - Throws: `overflow` if `storeBeside` has stored nothing for that reason.
    /// - Returns: when the pending commit became durable; nil without a pending commit.
    @discardableResult
    package func awaitCommit() throws(StoreError) -> ContinuousClock.Instant? {
        guard let commit = commitUnderWay else { return nil }
        commitUnderWay = nil
        let before = positionsBefore
        positionsBefore = nil
        do {
            return try commit.wait()
        } catch {
            if let before { positions = before }
            rowNumbers.removeAll()
            ids?.rollBack()
            throw StoreError(error, operation: "write", path: path)
        }
    }

    /// The rows of a partition were deleted.
    func forgetRowNumbers() { rowNumbers.removeAll() }

    /// Waits for the disk's answer, but leaves the result to `awaitCommit`.
    package func quiesce() { queue.inDatabase { _ in } }

    /// From now on, commits expect the partition at this state.
    package func expect(_ state: PartitionState) {
        positions[state.partition] = state.nextOffset
    }

    /// Keeps the content of a folded batch that its commit needs, so that the batch can be filled again before that.
    /// No record of the batch may be refused. The next `store` commits the batch with the one that it is given.
    package func gather<Fold: StreamFold>(_ lanes: FoldLanes<Fold>, _ batch: RecordBatch) {
        let hours = lanes.folds.flatMap { $0.effects.hours }
        gathered.find(
            hours.flatMap { [($0.partition, $0.firstOffset), ($0.partition, $0.lastOffset)] },
            in: batch)
    }

    /// Stores the results of a fold for a batch in one transaction, and clears the fold. The commit waits for the
    /// disk while the next batch is folded: it is durable when `awaitCommit` returns. Storing the next batch awaits
    /// it too.
    ///
    /// If a sum would overflow, the batch is folded again record by record, so that only that record is rejected. If
    /// batches were gathered before it, nothing is stored, the folds return to the stored state, and `overflow` is
    /// thrown: fold these records again without gathering. On another error nothing of the batch is stored.
    ///
    /// - Returns: the outcomes of the batch's records.
    package func store<Fold: StreamFold>(
        _ fold: Fold, _ prepared: Fold.Prepared
    ) throws(StoreError) -> StoredBatch {
        try store(FoldLanes([fold]), prepared)
    }

    /// Stores the results of a stream's lanes for a batch, as above.
    package func store<Fold: StreamFold>(
        _ lanes: FoldLanes<Fold>, _ prepared: Fold.Prepared
    ) throws(StoreError) -> StoredBatch {
        let batch = prepared.batch
        let found = takeGathered()
        var next = positions
        var stored = StoredBatch()
        do throws(StoreError) {
            guard !lanes.hasOverflowed else { throw .overflow }
            try beginCommit { db in
                let transaction = StoreTransaction(
                    db, path: self.path, batch: batch, found: found,
                    rowNumbers: self.rowNumbers, memory: self, ids: self.ids,
                    layouts: self.layouts,
                    notesChanges: self.notesChanges)
                try self.write(lanes, to: transaction, positions: &next)
                try self.ids?.write(db)
            }
            for fold in lanes.folds { stored.add(fold.effects) }
        } catch .overflow {
            guard found.isEmpty else {
                try takeBack(lanes)
                throw .overflow
            }
            stored.hasOverflowed = true
            next = positions
            try refold(lanes, prepared, positions: &next, stored: &stored)
        }
        positions = next
        lanes.clear()
        if let ids, ids.needsRoom { try ids.makeRoom() }
        return stored
    }

    /// Stores the results of lanes for gathered batches on another thread, and clears their folds, which must not be
    /// used until `awaitCommit` returns. The stream has a window, and nothing of the batches was refused.
    ///
    /// If a sum would overflow, nothing is stored and `awaitCommit` throws `overflow`: fold these records and all later
    /// ones again without gathering.
    ///
    /// - Returns: the outcomes of the records.
    package func storeBeside<Fold: StreamFold>(
        _ lanes: FoldLanes<Fold>
    ) throws(StoreError) -> StoredBatch {
        try awaitCommit()
        let found = takeGathered()
        let before = positions
        var stored = StoredBatch()
        for fold in lanes.folds { stored.add(fold.effects) }
        for progress in lanes.progress { positions[progress.partition] = progress.nextOffset }
        positionsBefore = before
        nonisolated(unsafe) let (store, lanes) = (self, lanes)
        commitUnderWay = CommitUnderWay(on: queue) { db in
            try store.begin(db)
            let transaction = StoreTransaction(
                db, path: store.path, batch: RecordBatch(), found: found,
                rowNumbers: store.rowNumbers, memory: store, ids: nil, layouts: store.layouts,
                notesChanges: store.notesChanges)
            var next = before
            try store.write(lanes, to: transaction, positions: &next)
            lanes.clear()
        }
        return stored
    }

    /// Forgets what `gather` has kept: its batches are read again.
    @discardableResult
    package func takeGathered() -> FoundRecords {
        defer { gathered = FoundRecords() }
        return gathered
    }

    /// Remembers rows permanently without folding a record, in one durable transaction. For benchmarks: records of
    /// many ids take long to make.
    package func remember(
        _ rows: [[MemoryValue]], in table: MemoryTable, partition: Int32
    ) throws(StoreError) {
        try commit { db in
            let transaction = StoreTransaction(
                db, path: self.path, batch: RecordBatch(), found: FoundRecords(),
                rowNumbers: self.rowNumbers, memory: self, ids: self.ids, layouts: self.layouts,
                notesChanges: self.notesChanges)
            for row in rows { try transaction.write(row, to: table, partition: partition) }
            try self.ids?.write(db)
        }
        if let ids, ids.needsRoom { try ids.makeRoom() }
    }

    private func write<Fold: StreamFold>(
        _ lanes: FoldLanes<Fold>, to transaction: StoreTransaction,
        positions: inout [Int32: Int64]
    ) throws {
        transaction.note(lanes, from: positions)
        for fold in lanes.folds { try write(fold, to: transaction) }
        try transaction.keep(lanes.refused)
        for progress in lanes.progress {
            let expected = positions[progress.partition] ?? 0
            guard try transaction.advance(progress, from: expected) else {
                throw StoreError.fenced(
                    path: path, partition: progress.partition, expected: expected)
            }
            positions[progress.partition] = progress.nextOffset
        }
        if let changes = transaction.changes { segmentChanges.note(changes) }
    }

    private func write(_ fold: some StreamFold, to transaction: StoreTransaction) throws {
        let symbols = fold.effects.symbols
        // A sum must not overflow at any point within the batch. Every intermediate value is between the stored sum
        // minus all subtractions and the stored sum plus all additions. If both fit, none overflows; otherwise the
        // batch is folded record by record.
        for (index, table) in fold.deltas.enumerated()
        where fold.deltas[..<index].contains(where: { $0.table.name == table.table.name }) {
            try transaction.requireRoom(for: table, symbols: symbols)
        }
        let hasContributions = (fold.deltas + [fold.effects.outcomes])
            .allSatisfy(\.hasContributions)
        let explained = ExplainedHours(
            of: fold.effects, days: explainDays, hasContributions: hasContributions)
        for table in fold.deltas + [fold.effects.outcomes] {
            try transaction.add(table, symbols: symbols, explained)
        }
        try transaction.forgetContributions(before: explained)
        try fold.writeMemory(to: transaction)
        try transaction.publish(fold.outbox)
        try transaction.keep(fold.effects.recollections)
        try transaction.add(fold.effects.hours)
    }

    /// Returns the folds to the stored state.
    private func takeBack<Fold: StreamFold>(_ lanes: FoldLanes<Fold>) throws(StoreError) {
        let partitions = Set(lanes.progress.map(\.partition))
        lanes.clear()
        for state in try partitionStates() where partitions.contains(state.partition) {
            try restore(state, in: lanes[partition: state.partition])
        }
    }

    /// Folds a batch again, record by record.
    private func refold<Fold: StreamFold>(
        _ lanes: FoldLanes<Fold>, _ prepared: Fold.Prepared, positions: inout [Int32: Int64],
        stored: inout StoredBatch
    ) throws(StoreError) {
        let batch = prepared.batch
        try takeBack(lanes)
        try commit { db in
            let transaction = StoreTransaction(
                db, path: self.path, batch: batch, found: FoundRecords(),
                rowNumbers: self.rowNumbers, memory: self, ids: self.ids, layouts: self.layouts,
                notesChanges: self.notesChanges)
            for index in 0..<batch.count {
                let fold = lanes[partition: batch.position(index).partition]
                try fold.fold(index, of: prepared)
                if try !self.tryToWrite(fold, to: transaction, positions: &positions) {
                    fold.rejectOverflow(index, of: prepared)
                    try self.write(FoldLanes([fold]), to: transaction, positions: &positions)
                }
                stored.add(fold.effects)
                fold.clear()
            }
            try self.ids?.write(db)
        }
    }

    /// Writes one record's effects, or nothing if a sum overflows.
    private func tryToWrite<Fold: StreamFold>(
        _ fold: Fold, to transaction: StoreTransaction, positions: inout [Int32: Int64]
    ) throws -> Bool {
        guard !fold.hasOverflowed else { return false }
        var next = positions
        let mark = ids?.mark
        var isWritten = true
        try transaction.db.inSavepoint {
            do {
                try self.write(FoldLanes([fold]), to: transaction, positions: &next)
                return .commit
            } catch StoreError.overflow {
                isWritten = false
                self.rowNumbers.removeAll()
                if let mark { self.ids?.takeBack(to: mark) }
                return .rollback
            }
        }
        if isWritten { positions = next }
        return isWritten
    }
}
