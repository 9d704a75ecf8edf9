import Foundation
import GRDB
import Streams

/// Takes snapshots of a partition of a store beside its worker, again and again: each has the files of the one before
/// where nothing has changed.
///
/// Used from one thread, which is not the worker's.
package final class SnapshotWriter {
    private let directory: SnapshotDirectory
    private let reader: StoreReader
    private let partition: Int32
    /// The consumer group of the worker; nil for a hand-off.
    private let group: String?
    /// Nil if nobody notes them.
    private let changes: SegmentChanges?
    /// The last snapshot that this writer has taken. Without one, changes are unknown.
    private var last: SnapshotManifest?
    /// Names of segments that had no rows when they were last looked at.
    private var empty: Set<String> = []

    /// - Parameters:
    ///   - store: which its worker has opened.
    ///   - group: the consumer group of the worker.
    ///   - last: the snapshot from which the partition was restored, with the same numbers of keys.
    package init(
        _ directory: SnapshotDirectory, of partition: Int32, in store: AggregateStore,
        group: String?, after last: SnapshotManifest? = nil
    ) throws(StoreError) {
        self.last = last
        self.group = group
        self.directory = directory
        self.partition = partition
        reader = try StoreReader(path: store.path)
        changes = store.segmentChanges
    }

    /// Takes one snapshot of a partition in the store at a path.
    package init(
        _ directory: SnapshotDirectory, of partition: Int32, at path: String
    ) throws(StoreError) {
        self.directory = directory
        self.partition = partition
        group = nil
        reader = try StoreReader(path: path)
        changes = nil
    }

    /// Takes a snapshot, durably.
    ///
    /// - Throws: `SnapshotFault` for a store of an earlier version; `StoreError`.
    /// - Returns: nil if the partition has no records, or has folded none since the last snapshot.
    package func take() throws -> SnapshotManifest? {
        guard let fold = Streams.stream(named: reader.stream) else { return nil }
        let last = last
        let (version, unknown) = try reader.snapshot(verifying: false) {
            (try StoreSchema.checkVersion($0.db, path: reader.path), try $0.unknownMeasures())
        }
        guard version == StoreSchema.mark(of: fold).version else {
            throw SnapshotFault(
                "\(reader.path) has schema \(version), of an earlier version: fold the log again (weir replay, then weir promote)"
            )
        }
        guard unknown.isEmpty else {
            throw SnapshotFault(UnknownMeasure.explanation(unknown, store: reader.path))
        }
        // The reader would name the store for it.
        var fault: SnapshotFault?
        let manifest: SnapshotManifest?
        do {
            manifest = try reader.snapshot(verifying: false) { snapshot -> SnapshotManifest? in
                guard
                    let state = try snapshot.partitionStates().first(where: {
                        $0.partition == partition
                    }), state.records > 0, state.nextOffset != last?.nextOffset
                else { return nil }
                do {
                    return try take(snapshot, state, SegmentTables(fold))
                } catch {
                    fault = error as? SnapshotFault
                    throw error
                }
            }
        } catch {
            throw fault ?? error
        }
        guard let manifest else { return nil }
        try StoreError.naming("write", directory.path) {
            let name = try directory.add(manifest)
            // After a promotion, the store has other numbers than snapshots at the same offset.
            if self.last == nil, changes != nil {
                try directory.delete(from: manifest.nextOffset, except: name)
            }
            changes?.forget(partition, through: manifest.nextOffset)
            self.last = manifest
            try directory.deleteOld()
        }
        return manifest
    }

    private func take(
        _ snapshot: StoreSnapshot, _ state: PartitionState, _ tables: SegmentTables
    ) throws -> SnapshotManifest {
        let db = snapshot.db
        let origin = try Row.fetchOne(db, sql: "SELECT partition_count FROM store")
        var manifest = SnapshotManifest(
            schema: try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0,
            stream: snapshot.stream, topic: snapshot.topic, logIdentity: snapshot.logIdentity,
            group: group, partitionCount: origin?["partition_count"] ?? 0, state,
            configuration: try snapshot.configurationOfLastRecord(of: state)?.hash,
            keyCount: try tables.keyCount(db))
        try directory.prepare(for: manifest)
        let changed = changes?.changes(of: partition) ?? ChangedSegments()
        var present: [String: SnapshotManifest.File] = [:]
        for file in last?.files ?? [] { present[file.segment] = file }
        for segment in try tables.segments(of: state, in: db) {
            if let last, !hasChanged(segment, changed, since: last) {
                if let file = present[segment.name] {
                    manifest.files.append(file)
                    continue
                }
                if empty.contains(segment.name) { continue }
            }
            let temporary = "\(directory.path)/\(segment.name).new-\(getpid())"
            let rows = try tables.rows(of: segment, partition: partition, in: db)
            let count = try writing(temporary) {
                try SegmentFile.write(rows, from: db, to: temporary)
            }
            guard count > 0 else {
                unlink(temporary)
                empty.insert(segment.name)
                continue
            }
            manifest.files.append(try directory.add(temporary, of: segment))
        }
        return manifest
    }

    /// Names the file of a segment in errors, and not the store, unless the store is damaged. Removes the file after an
    /// error.
    private func writing(_ path: String, _ body: () throws -> Int) throws -> Int {
        do {
            return try body()
        } catch {
            unlink(path)
            if let error = error as? DatabaseError,
                error.isOfDamagedPage || error.resultCode == .SQLITE_CORRUPT
            {
                throw error
            }
            throw StoreError(error, operation: "write", path: path)
        }
    }

    private func hasChanged(
        _ segment: Segment, _ changed: ChangedSegments, since last: SnapshotManifest
    ) -> Bool {
        switch segment {
        case .keys(let range): range.end > last.keyCount
        case .documents(let range): range.end > last.documentCount
        case .day, .records, .memory, .state: changed.contains(segment)
        }
    }
}
