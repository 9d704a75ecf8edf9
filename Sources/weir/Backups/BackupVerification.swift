import DatabaseFiles
import EmbeddedLog
import Engine
import EventLog
import Foundation
import GRDB
import Program
import Reports
import Store
import Wording

/// Verifies that a backup is intact, and that workers can continue from it.
struct BackupVerification {
    let directory: String
    let manifest: BackupManifest
    private(set) var faults: [String] = []
    private let show: (String) -> Void

    /// - Parameter isQuick: compares files with their SHA-256 only.
    init(directory: String, isQuick: Bool = false, show: @escaping (String) -> Void) throws {
        self.directory = directory
        self.show = show
        manifest = try BackupManifest(directory: directory)
        nameUnlisted()
        // SQLite would use a foreign write-ahead log as part of a database.
        let hasOthers = !faults.isEmpty
        for file in manifest.files { check(file, isQuick: isQuick || hasOthers) }
        // Damaged files are not read further.
        guard faults.isEmpty, !isQuick else { return }
        checkOffsets()
        checkDigest()
    }

    /// A restored data directory has all files of the backup, so an unlisted store would be in force there.
    private mutating func nameUnlisted() {
        let listed = Set(manifest.files.map(\.name) + [BackupManifest.fileName])
        let found = FileManager.default.subpaths(atPath: directory) ?? []
        for name in found.sorted() where !listed.contains(name) {
            var isDirectory: ObjCBool = false
            let path = "\(directory)/\(name)"
            let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            guard !exists || !isDirectory.boolValue else { continue }
            faults.append(
                "\(path) is not listed in \(BackupManifest.fileName): it does not belong to the backup, but would be "
                    + "restored with it. Move it elsewhere")
        }
    }

    private mutating func check(_ file: BackupManifest.File, isQuick: Bool) {
        let path = path(file)
        show("checking \(file.name) ...")
        do {
            guard access(path, F_OK) == 0 else {
                faults.append("\(path) is missing. Take another backup")
                return
            }
            let (bytes, sha256) = try BackupManifest.hash(path)
            guard bytes == file.bytes, sha256 == file.sha256 else {
                faults.append(
                    "\(path) is damaged or was changed: its \(bytes) bytes have the SHA-256 \(sha256). "
                        + "Take another backup")
                return
            }
            guard file.kind != .note, !isQuick else { return }
            let damage = try CheckedPages.openToRead(path).inDatabase { db in
                let damage = try CheckedPages.findDamage(db, path: path)
                // Opening the log reports that it is empty.
                if damage == nil, file.kind != .log {
                    try StoreMark.requireTables(in: db, path: path)
                }
                return damage
            }
            if let damage {
                faults.append(
                    file.kind == .log
                        ? "\(LogError.damaged(address: "sqlite:\(path)", detail: damage))"
                        : "\(StoreError.damaged(path: path, detail: damage))")
            }
            if file.kind == .log {
                try EmbeddedLog(path: path, mode: .existing).verifyRecords { [show] count in
                    show("checking \(file.name): \(counted(count, "record"))")
                }
            }
        } catch let error as LogError {
            faults.append(error.description)
        } catch {
            faults.append("\(StoreError(error, operation: "read", path: path))")
        }
    }

    /// Each store continues at its next offset, so the copied log must reach it.
    private mutating func checkOffsets() {
        guard let file = manifest.files.first(where: { $0.kind == .log }) else { return }
        do {
            let log = try EmbeddedLog(path: path(file), mode: .existing)
            for file in manifest.files {
                guard let table = file.kind.originTable else { continue }
                let path = path(file)
                let (row, partitions) = try CheckedPages.openToRead(path).read { db in
                    (
                        try Row.fetchOne(db, sql: "SELECT topic, log_identity FROM \(table)"),
                        try Row.fetchAll(db, sql: "SELECT partition, next_offset FROM partitions")
                    )
                }
                let folded = FoldedLog(
                    store: path, topic: row?["topic"] ?? "", logIdentity: row?["log_identity"] ?? ""
                )
                let offsets: [Int32: Int64] = partitions.reduce(into: [:]) {
                    $0[$1["partition"]] = $1["next_offset"]
                }
                faults += try folded.refusals(in: log, nextOffsets: offsets).map(\.description)
            }
        } catch {
            faults.append("\(error)")
        }
    }

    private mutating func checkDigest() {
        guard let expected = manifest.digest else { return }
        show("computing the digest ...")
        do {
            let found = try OpenStores(directories: [directory]).digest()
            if found != expected {
                faults.append(
                    "\(directory): the digest of the stores is \(found), expected \(expected). Use the "
                        + "version of Weir that wrote it, or take another backup")
            }
        } catch {
            faults.append(error.description)
        }
    }

    private func path(_ file: BackupManifest.File) -> String { "\(directory)/\(file.name)" }
}

extension BackupManifest.Kind {
    /// The table with the topic of a file; nil for a file without a topic.
    fileprivate var originTable: String? {
        switch self {
        case .store, .deliveries: "store"
        case .conversions: "log"
        case .corrections, .log, .note: nil
        }
    }
}
