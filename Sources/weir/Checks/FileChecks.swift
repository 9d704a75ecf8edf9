import DatabaseFiles
import Deliveries
import EmbeddedLog
import Engine
import EventLog
import Foundation
import Program
import Reports
import Store
import Streams
import Wording

/// Reads all files of some data directories. Checksums detect changed pages and changed records of the log.
struct PageCheck {
    /// The stores in force, their related files, and the deliveries.
    let paths: [String]
    let logPath: String?
    /// The stores that a worker rebuilds if their file is missing.
    private let refolded: Set<String>

    init(dataDirectories: [String], logAddress: String) throws(StoreError) {
        var paths: [String] = []
        var refolded: Set<String> = []
        for directory in dataDirectories {
            let sets = try PromotionJournal(directory: directory)
            for stream in OpenStores.streams {
                let path = sets.path(of: stream)
                paths.append(path)
                if sets.directory(of: stream) == directory { refolded.insert(path) }
            }
        }
        for directory in dataDirectories {
            let sets = try PromotionJournal(directory: directory)
            paths.append(CorrectionStore.path(in: sets.directory(of: emittingStream)))
            paths.append(DeliveryStore.path(in: directory))
            paths.append("\(directory)/conversions.sqlite")
        }
        self.paths = paths.filter(FileManager.default.fileExists)
        self.refolded = refolded
        guard case .sqlite(let path)? = try? LogAddress(logAddress),
            FileManager.default.fileExists(atPath: path)
        else {
            logPath = nil
            return
        }
        logPath = path
    }

    /// Reports damaged files and files without checksums. Returns the damaged files.
    func run(into report: inout CheckReport) -> Set<String> {
        defer { Console.show(progress: "") }
        var damaged: Set<String> = []
        var sound = 0
        for path in paths + (logPath.map { [$0] } ?? []) {
            Console.show(progress: "reading all of \(path) ...")
            do {
                let queue = try CheckedPages.openToRead(path)
                let (areChecked, damage) = try queue.inDatabase { db in
                    let damage = try CheckedPages.findDamage(db, path: path)
                    if damage == nil, path != logPath {
                        try StoreMark.requireTables(in: db, path: path)
                    }
                    return (damage == nil ? try CheckedPages.areThere(db) : true, damage)
                }
                if let damage, path == logPath {
                    // A log cannot be rebuilt, so it must never be deleted.
                    damaged.insert(path)
                    report.note(
                        wrong: "\(LogError.damaged(address: "sqlite:\(path)", detail: damage))")
                    continue
                }
                if let damage { throw StoreError.damaged(path: path, detail: damage) }
                if !areChecked { report.note(doubtful: "\(path) \(Self.unchecked)") }
                sound += 1
            } catch {
                var error = StoreError(error, operation: "read", path: path)
                if case .emptied = error, refolded.contains(path) {
                    error = .emptiedStore(path: path)
                }
                switch error {
                case .damaged, .emptied, .emptiedStore: damaged.insert(path)
                default: break
                }
                report.note(wrong: error.description)
            }
        }
        var records = ""
        if let logPath, !damaged.contains(logPath) {
            do {
                let count = try EmbeddedLog(path: logPath, mode: .existing).verifyRecords {
                    Console.show(progress: "read \(counted($0, "record")) of \(logPath)")
                }
                records = ", and \(counted(count, "record")) of the log"
            } catch LogError.emptyLog {
                // Opening the log reports this.
            } catch {
                report.note(wrong: error.description)
                return damaged
            }
        }
        if sound > 0, sound == paths.count + (logPath == nil ? 0 : 1) {
            report.note(
                right: "all pages of \(counted(sound, "file"))\(records) are undamaged")
        }
        return damaged
    }

    private static let unchecked =
        "has no checksums, because an older version created it, so damage may stay hidden: ops/runbooks/damaged-file.md "
        + "explains how to add them"
}

/// Checks the deliveries of a directory for documents that wait for an operator.
struct DeliveryCheck {
    let path: String
    private let directory: String

    /// The delivery store of a directory; nil without one.
    init?(in directory: String) {
        self.directory = directory
        path = DeliveryStore.path(in: directory)
        guard FileManager.default.fileExists(atPath: path) else { return nil }
    }

    /// Opens the store and compares it with the log, if there is one, like its program does at startup.
    ///
    /// - Parameters:
    ///   - configured: the configured topic; nil for that of the store.
    ///   - group: the consumer group of the program; nil for its name.
    ///   - now: the current time, milliseconds since 1970.
    func run(
        _ log: (any LogBackend)?, topic configured: String?, group: String? = nil,
        nowMilliseconds now: Int64 = WallClock.milliseconds,
        into report: inout CheckReport
    ) {
        do {
            let store = try DeliveryStore(existing: path)
            let faults =
                try refusals(of: store, log, configured, group).map(\.description)
                + (disabledPartners(in: store) + deadDeliveries(in: store)).map { "\(path): \($0)" }
            for fault in faults { report.note(wrong: fault) }
            for misplaced in try store.misplaced(nowMilliseconds: now) {
                report.note(
                    doubtful:
                        "\(path): \(misplaced.count) deliveries for \(misplaced.partner) wait until "
                        + "\(UTC.text(milliseconds: misplaced.untilMilliseconds)), longer than the "
                        + "schedule allows: the clock was ahead, or is behind now. They are due, and "
                        + "weir-partner-postbacks sends them when it runs")
            }
            for (partner, count) in try counts(of: .held, in: store) {
                report.note(
                    doubtful:
                        "\(path): \(count) deliveries for \(partner) are held and wait for your decision: see "
                        + "weir deliveries list --partner \(partner) --state held --data \(directory)"
                )
            }
            guard faults.isEmpty else { return }
            let delivered = try counts(of: .delivered, in: store).reduce(0) { $0 + $1.count }
            report.note(
                right: "deliveries \(path): \(delivered) delivered, "
                    + "\(try store.waiting().count) pending")
        } catch {
            report.note(wrong: "\(error)")
        }
    }

    private func refusals(
        of store: DeliveryStore, _ log: (any LogBackend)?, _ configured: String?, _ group: String?
    ) throws -> [LogChange] {
        guard let log else { return [] }
        let folded = try store.foldedLog()
        let reader = try log.reader(
            topic: configured ?? folded.topic, group: group ?? PartnerPostbacksWorker.programName)
        defer { reader.close() }
        if let refusal = try folded.refusal(of: reader) { return [refusal.ofDocuments] }
        let (watched, committed) = (try store.watched(), try reader.committedOffsets())
        let bounds = try reader.bounds(of: watched.map(\.partition))
        // Another instance may have continued.
        let next = watched.reduce(into: [:]) {
            $0[$1.partition] = max($1.nextOffset, committed[$1.partition]?.next ?? 0)
        }
        let check = LogIdentityCheck(store: store, topic: reader.topic) {
            try log.lookingReader(topic: reader.topic)
        }
        do {
            try check.requireAnswers(of: Set(watched.map(\.partition)))
            try check.compare(committed, in: bounds)
        } catch let change as LogChange {
            return [change]
        }
        return bounds.compactMap { bounds in
            FoldedLog.refusal(
                of: TopicPartition(topic: reader.topic, partition: bounds.partition),
                nextOffset: next[bounds.partition] ?? 0, in: bounds, store: path)?.ofDocuments
        }
    }

    private func disabledPartners(in store: DeliveryStore) throws -> [String] {
        try store.disabledPartners().map { partner in
            "partner \(partner.name) \(partner.explanation): \(partner.remedy) weir deliveries retry "
                + "--partner \(partner.name) --data \(directory)"
        }
    }

    private func deadDeliveries(in store: DeliveryStore) throws -> [String] {
        try counts(of: .dead, in: store).map { partner, count in
            guard !partner.isEmpty else {
                return
                    "\(counted(count, "record")) \(count == 1 ? "is not a document" : "are not documents"): see weir deliveries list --state dead "
                    + "--data \(directory)"
            }
            return
                "\(count) deliveries for \(partner) are dead: see weir deliveries list --partner \(partner) "
                + "--state dead --data \(directory), then weir deliveries retry"
        }
    }

    private func counts(
        of state: DeliveryState, in store: DeliveryStore
    ) throws -> [(partner: String, count: Int)] {
        try store.counts().filter { $0.state == state }.map { ($0.partner, $0.count) }
    }
}
