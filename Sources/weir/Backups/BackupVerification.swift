import AggregateStore
import DatabaseFiles
import EventLog
import Foundation
import GRDB
import Inspection
import Worker

/// Whether a backup holds what was written, and whether workers can go on from it.
struct BackupVerification {
    let directory: String
    let manifest: BackupManifest
    private(set) var faults: [String] = []
    private let show: (String) -> Void

    init(directory: String, show: @escaping (String) -> Void) throws {
        self.directory = directory
        self.show = show
        manifest = try BackupManifest(directory: directory)
        nameUnlisted()
        // SQLite would take a write-ahead log that is not the backup's for part of a database.
        guard faults.isEmpty else { return }
        for file in manifest.files { check(file) }
        // What is damaged is not asked for numbers.
        guard faults.isEmpty else { return }
        checkOffsets()
        checkDigest()
    }

    /// A restored data directory has all files of the backup: a store that is not listed would be
    /// in force there.
    private mutating func nameUnlisted() {
        let listed = Set(manifest.files.map(\.name) + [BackupManifest.fileName])
        let found = FileManager.default.subpaths(atPath: directory) ?? []
        for name in found.sorted() where !listed.contains(name) {
            var isDirectory: ObjCBool = false
            let path = "\(directory)/\(name)"
            let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            guard !exists || !isDirectory.boolValue else { continue }
            faults.append(
                "\(path) is not listed in \(BackupManifest.fileName): it is no part of the backup, and would be "
                    + "restored with it; move it elsewhere")
        }
    }

    private mutating func check(_ file: BackupManifest.File) {
        let path = path(file)
        show("checking \(file.name) ...")
        do {
            let (bytes, sha256) = try BackupManifest.hash(path)
            guard bytes == file.bytes, sha256 == file.sha256 else {
                faults.append(
                    "\(path) is not what was written: its SHA-256 is \(sha256), of \(bytes) bytes; "
                        + "take another backup")
                return
            }
            guard file.kind != .note else { return }
            let damage = try CheckedPages.openToRead(path).inDatabase {
                try CheckedPages.findDamage($0, path: path)
            }
            if let damage { faults.append("\(StoreError.damaged(path: path, detail: damage))") }
            if file.kind == .log {
                try EmbeddedLog(path: path, mode: .existing).verifyRecords { [show] count in
                    show("checking \(file.name): \(count) records")
                }
            }
        } catch let error as LogError {
            faults.append(error.description)
        } catch {
            faults.append("\(StoreError(error, operation: "read", path: path))")
        }
    }

    /// Each store goes on at its next offset, so the copied log has to reach there.
    private mutating func checkOffsets() {
        guard let file = manifest.files.first(where: { $0.kind == .log }) else { return }
        do {
            let log = try EmbeddedLog(path: path(file), mode: .existing)
            for file in manifest.files {
                guard let table = file.kind.originTable else { continue }
                let path = path(file)
                let (standing, offsets) = try CheckedPages.openToRead(path).read { db in
                    let row = try Row.fetchOne(
                        db, sql: "SELECT topic, log_identity FROM \(table)")
                    let partitions = try Row.fetchAll(
                        db, sql: "SELECT partition, next_offset FROM partitions")
                    return (
                        StoreStanding(
                            store: path, topic: row?[0] ?? "", logIdentity: row?[1] ?? ""),
                        partitions.map { ($0[0] as Int32, $0[1] as Int64) }
                    )
                }
                let reader = try log.reader(topic: standing.topic)
                defer { reader.close() }
                let refusals = try standing.refusals(
                    of: reader, nextOffsets: Dictionary(uniqueKeysWithValues: offsets))
                faults += refusals.map(\.description)
            }
        } catch {
            faults.append("\(error)")
        }
    }

    private mutating func checkDigest() {
        guard let expected = manifest.digest else { return }
        show("computing the digest ...")
        do {
            let found = try StoreSet(directories: [directory]).digest()
            if found != expected {
                faults.append(
                    "\(directory): the digest of its stores is \(found), and was \(expected): use the "
                        + "version of Weir that wrote it, or take another backup")
            }
        } catch {
            faults.append(error.description)
        }
    }

    private func path(_ file: BackupManifest.File) -> String { "\(directory)/\(file.name)" }
}

extension BackupManifest.Kind {
    /// The table that names the topic that a file follows; nil for one that follows none.
    fileprivate var originTable: String? {
        switch self {
        case .store, .deliveries: "store"
        case .conversions: "log"
        case .corrections, .log, .note: nil
        }
    }
}
