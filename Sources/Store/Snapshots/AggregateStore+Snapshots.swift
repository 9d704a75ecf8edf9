import Foundation
import GRDB
import Streams

extension AggregateStore {
    /// Continues a partition from a snapshot: replaces its rows, if there are any, by those of the snapshot.
    ///
    /// The partition has no state until all rows are stored, so readers ignore it. A crash leaves rows without a state,
    /// which `clear` deletes: `RestoredPartitions` lists the partition.
    ///
    /// - Parameters:
    ///   - directory: of the partition's snapshots. The files of this one were verified.
    ///   - copy: of the partition in an earlier snapshot. If the store still has it, only what has changed is replaced.
    ///     It cannot be used again.
    /// - Throws: `SnapshotFault` for a snapshot of another log or version; `StoreError`.
    package func restore(
        _ manifest: SnapshotManifest, in directory: SnapshotDirectory,
        over copy: PartitionCopy? = nil
    ) throws -> PartitionCopy {
        guard let fold = Streams.stream(named: stream) else {
            throw SnapshotFault("\(path) is of a stream that this version does not have")
        }
        try require(manifest)
        let tables = SegmentTables(fold)
        let present = try copy.flatMap {
            try has($0) && hasKeys(of: $0, manifest, in: directory) ? $0 : nil
        }
        let names = Set(present?.manifest.files.map(\.name) ?? [])
        let files = manifest.files.filter { !names.contains($0.name) }
        for file in files {
            try withSegment(file, in: directory) {
                try read(file, in: directory) { try tables.requireColumnsOfSegment($0) }
            }
        }
        var restored: RestoredPartition
        if let present {
            let kept = Set(manifest.files.map(\.name))
            try remove(
                present.manifest.files.filter { !kept.contains($0.name) },
                of: manifest.partition, tables)
            restored = present.rows
        } else {
            try clear(partition: manifest.partition)
            restored = RestoredPartition(manifest.partition, tables, fold)
        }
        // Readers see the partition with the last transaction, which makes all others durable too.
        try setSynchronous("NORMAL")
        defer { try? setSynchronous("FULL") }
        try commit { db in
            try RestoredPartitions.begin(manifest.partition, db)
            if present == nil { try restored.begin(db) }
        }
        for file in files where file.segment != Segment.state.name {
            try restore(file, in: directory, &restored)
        }
        try setSynchronous("FULL")
        for file in files where file.segment == Segment.state.name {
            try restore(file, in: directory, &restored)
        }
        forgetRowNumbers()
        return PartitionCopy(manifest: manifest, rows: restored)
    }

    /// Whether the store has a partition as it was copied.
    private func has(_ copy: PartitionCopy) throws -> Bool {
        try partitionStates().contains {
            $0.partition == copy.manifest.partition && $0.nextOffset == copy.manifest.nextOffset
                && $0.records == copy.manifest.records
        }
    }

    /// Whether keys have the same numbers in a snapshot as in the copy. Another worker has other numbers.
    private func hasKeys(
        of copy: PartitionCopy, _ manifest: SnapshotManifest, in directory: SnapshotDirectory
    ) throws -> Bool {
        guard manifest.keyCount >= copy.manifest.keyCount else { return false }
        let names = Set(copy.manifest.files.map(\.name))
        for file in manifest.files where !names.contains(file.name) {
            guard case .keys(let range) = Segment(name: file.segment) else { continue }
            var isSame = false
            try withSegment(file, in: directory) {
                isSame = try read(file, in: directory) {
                    try copy.rows.hasKeysOfSegment($0, in: range)
                }
            }
            guard isSame else { return false }
        }
        return true
    }

    /// Ends the use of a copy. Its rows stay.
    package func release(_ copy: PartitionCopy) throws {
        try awaitCommit()
        try queue.inDatabase { try copy.rows.end($0) }
    }

    /// Deletes the rows of segments, except keys and the numbers of hours.
    private func remove(
        _ files: [SnapshotManifest.File], of partition: Int32, _ tables: SegmentTables
    ) throws {
        try commit { try RestoredPartitions.begin(partition, $0) }
        for segment in files.compactMap({ Segment(name: $0.segment) }) {
            try commit { db in
                for rows in try tables.rows(of: segment, partition: partition, in: db)
                where !tables.isShared(rows.table) {
                    try db.execute(sql: "DELETE FROM \(rows.table) WHERE \(rows.condition)")
                }
            }
        }
    }

    private func setSynchronous(_ mode: String) throws(StoreError) {
        try StoreError.naming("write", path) {
            try queue.inDatabase { try $0.execute(sql: "PRAGMA synchronous = \(mode)") }
        }
    }

    private func restore(
        _ file: SnapshotManifest.File, in directory: SnapshotDirectory,
        _ restored: inout RestoredPartition
    ) throws {
        var partition = restored
        var fault: SnapshotFault?
        try withSegment(file, in: directory) {
            do throws(StoreError) {
                try commit { db in
                    do {
                        try partition.add(db, ids: self.ids)
                    } catch {
                        fault = error as? SnapshotFault
                        throw error
                    }
                    if file.segment == Segment.state.name {
                        try endReplacement(of: partition.partition, db)
                    }
                }
            } catch {
                throw fault ?? (error as any Error)
            }
        }
        restored = partition
    }

    /// Reads the attached segment.
    private func read<Result>(
        _ file: SnapshotManifest.File, in directory: SnapshotDirectory,
        _ body: (Database) throws -> Result
    ) throws -> Result {
        do {
            return try queue.inDatabase(body)
        } catch let fault as SnapshotFault {
            throw fault
        } catch {
            throw StoreError(error, operation: "read", path: "\(directory.path)/\(file.name)")
        }
    }

    /// Runs `body` while a segment is attached as `segment`.
    private func withSegment(
        _ file: SnapshotManifest.File, in directory: SnapshotDirectory,
        _ body: () throws -> Void
    ) throws {
        try awaitCommit()
        let path = "\(directory.path)/\(file.name)"
        // Its owner may have deleted it since, and SQLite would begin a new file.
        guard access(path, R_OK) == 0 else {
            throw SnapshotFault("\(file.name) is missing or cannot be read")
        }
        let hasTables = try StoreError.naming("read", path) {
            try queue.inDatabase { db in
                try db.execute(sql: "ATTACH ? AS segment", arguments: [path])
                return try Bool.fetchOne(
                    db, sql: "SELECT EXISTS (SELECT 1 FROM segment.sqlite_schema)")
            }
        }
        defer { try? queue.inDatabase { try $0.execute(sql: "DETACH segment") } }
        guard hasTables == true else { throw SnapshotFault("\(file.name) has no tables") }
        try body()
    }

    private func require(_ manifest: SnapshotManifest) throws {
        let origin = try origin()
        guard manifest.stream == stream, manifest.topic == origin.topic else {
            throw SnapshotFault("it is of topic \(manifest.topic) and stream \(manifest.stream)")
        }
        guard manifest.logIdentity == origin.logIdentity else {
            throw SnapshotFault("it is of another log, or its topic was recreated")
        }
        guard manifest.partitionCount == origin.partitionCount else {
            throw SnapshotFault(
                "its topic had \(manifest.partitionCount) partitions, and now has \(origin.partitionCount)"
            )
        }
        let schema = try read { try Int.fetchOne($0, sql: "PRAGMA user_version") ?? 0 }
        guard manifest.schema == schema else {
            throw SnapshotFault(
                "it is of a store with schema \(manifest.schema), and \(path) has schema \(schema)")
        }
    }

    /// Deletes a partition with all its rows, to restore or begin it next. Without any, it writes nothing.
    package func clear(partition: Int32) throws(StoreError) {
        guard let fold = Streams.stream(named: stream) else { return }
        let tables = SegmentTables(fold)
        let present = try read { db in
            try tables.byPartition(db).filter { table in
                try Bool.fetchOne(
                    db, sql: "SELECT EXISTS (SELECT 1 FROM \(table) WHERE partition = ?)",
                    arguments: [partition]) ?? false
            }
        }
        let isMarked = try read { try RestoredPartitions.contains(partition, $0) }
        guard !present.isEmpty || isMarked else { return }
        // Without a state, its other rows no longer count.
        try commit { try RestoredPartitions.begin(partition, $0) }
        for (sums, _) in tables.sums {
            try commit { db in
                let slots = try Int64.fetchAll(
                    db, sql: "SELECT slot FROM slots WHERE partition = ?", arguments: [partition])
                for slot in slots {
                    try db.execute(
                        sql: "DELETE FROM \(sums) WHERE number >= ? AND number < ?",
                        arguments: [
                            RowNumbers.number(slot: slot, key: 0),
                            RowNumbers.number(slot: slot + 1, key: 0),
                        ])
                }
            }
        }
        for table in present {
            try commit {
                try $0.execute(
                    sql: "DELETE FROM \(table) WHERE partition = ?", arguments: [partition])
            }
        }
        forgetRowNumbers()
    }
}
