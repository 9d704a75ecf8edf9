import AggregateStore
import DatabaseFiles
import EventLog
import Foundation
import Inspection
import PartnerPostbacks
import Worker

/// Reads all of the files of some data directories. A page that is not what was written shows by
/// its checksum, and so does a record of the log.
struct PageCheck {
    /// The stores in force, what belongs to them, and the deliveries.
    let paths: [String]
    /// The embedded log; nil when the log is another one.
    let logPath: String?

    init(dataDirectories: [String], logAddress: String) throws(StoreError) {
        var paths: [String] = []
        for directory in dataDirectories {
            let sets = try StoreSets(directory: directory)
            for stream in StoreSet.streams { paths.append(sets.path(of: stream)) }
            paths.append("\(sets.directory(of: "postbacks"))/\(CorrectionStore.fileName)")
            paths.append(DeliveryStore.path(in: directory))
            paths.append("\(directory)/conversions.sqlite")
        }
        self.paths = paths.filter(FileManager.default.fileExists)
        guard case .sqlite(let path)? = try? LogAddress(logAddress),
            FileManager.default.fileExists(atPath: path)
        else {
            logPath = nil
            return
        }
        logPath = path
    }

    /// Reports what is damaged, and which files have no checksums. Returns the damaged files.
    func run(into report: inout CheckReport) -> Set<String> {
        defer { Notice.show(progress: "") }
        var damaged: Set<String> = []
        var sound = 0
        for path in paths + (logPath.map { [$0] } ?? []) {
            Notice.show(progress: "reading all of \(path) ...")
            do {
                let queue = try CheckedPages.openToRead(path)
                let (areChecked, damage) = try queue.inDatabase { db in
                    let damage = try CheckedPages.findDamage(db, path: path)
                    return (damage == nil ? try CheckedPages.areThere(db) : true, damage)
                }
                if let damage { throw StoreError.damaged(path: path, detail: damage) }
                if !areChecked { report.note(doubtful: "\(path) \(Self.unchecked)") }
                sound += 1
            } catch {
                let error = StoreError(error, operation: "read", path: path)
                if case .damaged = error { damaged.insert(path) }
                report.note(wrong: error.description)
            }
        }
        var records = ""
        if let logPath, !damaged.contains(logPath) {
            do {
                let count = try EmbeddedLog(path: logPath, mode: .existing).verifyRecords {
                    Notice.show(progress: "read \($0) records of \(logPath)")
                }
                records = ", and \(count) records of the log"
            } catch LogError.emptyLog {
                // Whoever opens the log says so.
            } catch {
                report.note(wrong: error.description)
                return damaged
            }
        }
        if sound > 0, sound == paths.count + (logPath == nil ? 0 : 1) {
            report.note(right: "all pages of \(sound) files\(records) are what was written")
        }
        return damaged
    }

    private static let unchecked =
        "is of before pages had checksums, so that damage may not show: ops/runbooks/damaged-file.md "
        + "says how it gets them"
}
