import Crypto
import DatabaseFiles
import Dispatch
import Foundation
import GRDB
import Synchronization

/// The snapshots of one partition of a stream, in a directory that several machines may share.
///
/// Files of segments are named after their content and never change. A manifest is written after its files, so that a
/// crash leaves files without a manifest at most.
package struct SnapshotDirectory: Sendable {
    package let path: String

    /// The newest snapshots that stay.
    private static let kept = 3
    /// The age from which files without a manifest are deleted: another machine may be writing them.
    private static let unlistedSeconds: Double = 300

    /// - Parameter root: the directory of all snapshots.
    package init(root: String, stream: String, partition: Int32) {
        path = "\(root)/\(stream)/\(partition)"
    }

    /// The files of manifests, the newest first. None without a directory. Throws for one that cannot be read.
    package func manifests() throws(StoreError) -> [String] {
        var found = stat()
        if stat(path, &found) != 0, errno == ENOENT { return [] }
        return try StoreError.naming("read", path) {
            try FileManager.default.contentsOfDirectory(atPath: path)
                .filter { $0.hasPrefix(SnapshotManifest.prefix) && $0.hasSuffix(".json") }
                .sorted(by: >)
        }
    }

    /// The directories of snapshots below a root, in order: of these streams, and of all partitions.
    package static func all(
        in root: String, of streams: [String]
    ) throws(StoreError) -> [(stream: String, partition: Int32, directory: SnapshotDirectory)] {
        var found: [(stream: String, partition: Int32, directory: SnapshotDirectory)] = []
        for stream in streams {
            let path = "\(root)/\(stream)"
            var status = stat()
            if stat(path, &status) != 0, errno == ENOENT { continue }
            let names = try StoreError.naming("read", path) {
                try FileManager.default.contentsOfDirectory(atPath: path)
            }
            for partition in names.compactMap({ Int32($0) }).sorted() {
                let directory = SnapshotDirectory(root: root, stream: stream, partition: partition)
                found.append((stream, partition, directory))
            }
        }
        return found
    }

    /// When a snapshot was written, in milliseconds since 1970; nil if that cannot be read.
    package func takenMilliseconds(_ name: String) -> Int64? {
        var found = stat()
        guard stat("\(path)/\(name)", &found) == 0 else { return nil }
        return Int64(found.st_mtim.tv_sec) * 1000 + Int64(found.st_mtim.tv_nsec) / 1_000_000
    }

    package func manifest(named name: String) throws(SnapshotFault) -> SnapshotManifest {
        let bytes: Data
        do {
            bytes = try RegularFile.contents(of: "\(path)/\(name)")
        } catch {
            throw SnapshotFault("its manifest \(error)")
        }
        return try SnapshotManifest(name: name, bytes: bytes)
    }

    /// Throws what is wrong with the files of a snapshot: each must exist and have its content. Reads them on all cores.
    package func verify(_ manifest: SnapshotManifest) throws(SnapshotFault) {
        let faults = Mutex<[Int: String]>([:])
        DispatchQueue.concurrentPerform(iterations: manifest.files.count) { index in
            let file = manifest.files[index]
            let fault: String? = {
                guard let found = try? Self.hash("\(path)/\(file.name)") else {
                    return "\(file.name) is missing or cannot be read"
                }
                return found == (file.bytes, file.sha256) ? nil : "\(file.name) is damaged"
            }()
            if let fault { faults.withLock { $0[index] = fault } }
        }
        if let first = faults.withLock({ $0.min { $0.key < $1.key } }) {
            throw SnapshotFault(first.value)
        }
    }

    /// The newest snapshot whose files are undamaged; and the newer ones, with their faults.
    package func newestUsable() throws(StoreError) -> (
        SnapshotManifest?, refused: [(name: String, fault: SnapshotFault)]
    ) {
        var refused: [(name: String, fault: SnapshotFault)] = []
        for name in try manifests() {
            do throws(SnapshotFault) {
                let manifest = try manifest(named: name)
                try verify(manifest)
                return (manifest, refused)
            } catch {
                refused.append((name, error))
            }
        }
        return (nil, refused)
    }

    /// Lends the state of the partition in a snapshot, with its configurations and without its rows.
    package func state<Result>(
        of manifest: SnapshotManifest,
        _ body: (StoreSnapshot, PartitionState) throws -> Result
    ) throws -> Result {
        guard let file = manifest.files.first(where: { $0.segment == Segment.state.name }) else {
            throw SnapshotFault("its manifest lists no state")
        }
        let path = "\(path)/\(file.name)"
        do {
            return try CheckedPages.openToRead(path).inDatabase { db in
                let snapshot = try StoreSnapshot(db, path: path)
                guard
                    let state = try snapshot.partitionStates().first(where: {
                        $0.partition == manifest.partition && $0.nextOffset == manifest.nextOffset
                    })
                else { throw SnapshotFault("\(file.name) is of another partition or offset") }
                return try body(snapshot, state)
            }
        } catch let error as DatabaseError {
            throw SnapshotFault("\(file.name) cannot be read (\(error.message ?? "\(error)"))")
        }
    }

    static func hash(_ path: String) throws -> (bytes: Int, sha256: String) {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
        return (bytes.count, SHA256.hash(data: bytes).hexDigits)
    }

    /// Gives a new file of a segment its name, which tells its content; a file of the same content stays.
    func add(_ temporary: String, of segment: Segment) throws -> SnapshotManifest.File {
        let (bytes, sha256) = try Self.hash(temporary)
        let file = SnapshotManifest.File(
            segment: segment.name, name: "\(segment.name)-\(sha256.prefix(16)).sqlite",
            bytes: bytes, sha256: sha256)
        try DurableFile.move(temporary, to: "\(path)/\(file.name)")
        return file
    }

    /// Writes a manifest. Its files are durable.
    func add(_ manifest: SnapshotManifest) throws -> String {
        let (name, bytes) = try manifest.encoded()
        try DurableFile.replace("\(path)/\(name)", with: bytes)
        return name
    }

    /// Creates the directory. Throws `SnapshotFault` if another installation has its snapshots there.
    func prepare(for manifest: SnapshotManifest) throws {
        try StoreError.naming("write", path) {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true)
        }
        let other = try manifests().lazy.compactMap { try? self.manifest(named: $0) }
            .first { !$0.isOfSameInstallation(as: manifest) }
        guard let other else { return }
        throw SnapshotFault(
            "\(path) has snapshots of topic \(other.topic)\(other.group.map { " and group \($0)" } ?? ""), in \(other.logIdentity == manifest.logIdentity ? "the same log" : "another log"): give each installation its own directory in snapshots, or delete these if they are no longer needed"
        )
    }

    /// Deletes the other snapshots at an offset and beyond.
    func delete(from nextOffset: Int64, except kept: String) throws {
        let first = SnapshotManifest.fileName(nextOffset: nextOffset, sha256: "")
        for name in try manifests() where name != kept && name >= first.dropLast(".json".count) {
            unlink("\(path)/\(name)")
        }
    }

    /// Deletes all snapshots, durably. Files of segments stay until a later snapshot finds that they are not listed:
    /// another machine may be writing them.
    package func deleteAll() throws(StoreError) {
        let names = try manifests()
        for name in names where unlink("\(path)/\(name)") != 0 && errno != ENOENT {
            throw .disk(
                operation: "delete", path: "\(path)/\(name)",
                detail: SystemRefusal.explanation())
        }
        if let first = names.first { try DurableFile.syncName(of: "\(path)/\(first)") }
    }

    /// Deletes older snapshots, and files of segments that none of the others has.
    func deleteOld() throws {
        let names = try manifests()
        for name in names.dropFirst(Self.kept) { unlink("\(path)/\(name)") }
        var listed: Set<String> = []
        for name in names.prefix(Self.kept) {
            // The files of a manifest that cannot be read are unknown, so all stay.
            guard let manifest = try? manifest(named: name) else { return }
            listed.formUnion(manifest.files.map(\.name))
        }
        let recent = Date(timeIntervalSinceNow: -Self.unlistedSeconds)
        for name in try FileManager.default.contentsOfDirectory(atPath: path)
        where !name.hasPrefix(SnapshotManifest.prefix) && !listed.contains(name) {
            let file = "\(path)/\(name)"
            let date = try? FileManager.default.attributesOfItem(atPath: file)[.modificationDate]
            if let date = date as? Date, date < recent { unlink(file) }
        }
    }
}
