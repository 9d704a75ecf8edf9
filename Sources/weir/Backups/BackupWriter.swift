import DatabaseFiles
import Deliveries
import EmbeddedLog
import EventLog
import Foundation
import History
import Program
import Reports
import Store
import Streams

/// Copies a data directory while it is in use.
///
/// Each copied file is consistent in itself. The log is copied last, so that its copy contains every record that the
/// copied stores have folded and the deliveries have ingested. In the other order a store could be ahead of the log,
/// and its worker would reject it. Records that arrive in between are in the log, and are folded, published and
/// ingested again. Deliveries deduplicate those documents by id and revision.
struct BackupWriter {
    private let data: String
    private let logPath: String?
    private let target: String
    private let work: String
    private let sets: PromotionJournal
    private let show: (String) -> Void
    private var manifest: BackupManifest

    /// - Parameters:
    ///   - data: the data directory.
    ///   - logPath: the embedded log; nil when the log is a cluster.
    ///   - target: the directory to create; it must not exist.
    ///   - show: shows the progress.
    init(data: String, logPath: String?, target: String, show: @escaping (String) -> Void) throws {
        self.data = data
        self.logPath = logPath
        let path = URL(fileURLWithPath: target).standardizedFileURL.path
        self.target = path
        work = "\(path).new-\(getpid())"
        self.show = show
        guard access(path, F_OK) != 0 else {
            throw CommandError.failure(
                "\(path) already exists, and a backup never replaces files: name another directory")
        }
        guard !Self.isInside(path, data) else {
            throw CommandError.failure(
                "\(path) is inside \(data), the directory to back up: name a directory outside it, on another disk "
                    + "if possible")
        }
        guard !PromotionRequest.isMade(in: data) || !PromotionRequest.isHeld(in: data) else {
            throw CommandError.failure(
                "a promotion is running in \(data): wait until it ends, then back up")
        }
        if let logPath { try Self.requireLog(logPath) }
        sets = try PromotionJournal(directory: data)
        manifest = BackupManifest(atMilliseconds: WallClock.milliseconds, data: data)
    }

    /// Whether a new directory would be created inside another one, after resolving links.
    static func isInside(_ target: String, _ source: String) -> Bool {
        var target = URL(fileURLWithPath: target)
        var missing: [String] = []
        while access(target.path, F_OK) != 0, target.path != "/" {
            missing.append(target.lastPathComponent)
            target.deleteLastPathComponent()
        }
        let parent = target.resolvingSymlinksInPath().pathComponents
        let directory = URL(fileURLWithPath: source).resolvingSymlinksInPath().pathComponents
        return (parent + missing.reversed()).starts(with: directory)
    }

    /// A backup without the log of its stores would look complete, like that of a directory with its log in Kafka.
    private static func requireLog(_ path: String) throws {
        do throws(LogError) {
            _ = try EmbeddedLog(path: path, mode: .existing)
        } catch {
            guard case .noLog = error else { throw error }
            throw CommandError.failure(
                "no log at \(path): give --data the directory in use, and --log its log (kafka://HOST:PORT for Kafka)"
            )
        }
    }

    /// Writes the backup under a temporary name, which is removed on errors. It is renamed when all of it is on the
    /// disk.
    mutating func write() throws -> BackupManifest {
        do {
            try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: true)
            try copyFiles()
            guard !manifest.files.isEmpty else {
                throw CommandError.failure(
                    "nothing to back up in \(data): give --data a directory that is in use"
                )
            }
            guard try PromotionJournal(directory: data).promotions == sets.promotions else {
                throw CommandError.failure(
                    "a set of stores was promoted in \(data) during the backup: back up again")
            }
            if manifest.files.contains(where: { $0.kind == .store }) {
                show("computing the digest ...")
                manifest.digest = try OpenStores(directories: [work]).digest()
            }
            try DurableFile.replace("\(work)/\(BackupManifest.fileName)", with: manifest.encoded())
            for directory in Set(
                manifest.files.map { ("\(work)/\($0.name)" as NSString).deletingLastPathComponent }
            )
            .union([work]).sorted() {
                try Self.sync(directory)
            }
            try DurableFile.move(work, to: target)
            return manifest
        } catch {
            try? FileManager.default.removeItem(atPath: work)
            if error is CocoaError {
                throw CommandError.failure(
                    "cannot write \(target): \(SystemRefusal.explanation(of: error))")
            }
            throw error
        }
    }

    /// Locks the corrections while copying. Otherwise the copy could list a correction as due that the copy of the log
    /// already contains.
    private mutating func copyFiles() throws {
        let corrections = try lockCorrections()
        defer { withExtendedLifetime(corrections) {} }
        try copyStores()
        try copyIfThere(DeliveryStore.path(in: data), "deliveries.sqlite", .deliveries)
        try copyIfThere("\(data)/conversions.sqlite", "conversions.sqlite", .conversions)
        let actions = "\(data)/\(OperatorLog.fileName)"
        if FileManager.default.fileExists(atPath: actions) {
            try note(Data(contentsOf: URL(fileURLWithPath: actions)), as: OperatorLog.fileName)
        }
        if let logPath { try copyIfThere(logPath, "log.sqlite", .log) }
        // Without a lock, another user may have started to send corrections.
        if corrections == nil, try lockCorrections() != nil {
            throw CommandError.failure(
                "corrections were sent in \(data) during the backup: back up again")
        }
    }

    /// Nil if no promotion has left corrections, or if this user cannot lock them.
    private func lockCorrections() throws -> StoreLock? {
        guard let path = try CorrectionStore.presentPath(of: emittingStream, in: sets) else {
            return nil
        }
        do throws(StoreError) {
            return try StoreLock(copying: path)
        } catch {
            guard case .locked(_, let owner) = error else { throw error }
            throw CommandError.failure(
                "weir promote is sending corrections of \(path)\(owner): wait until it ends, then back up"
            )
        }
    }

    /// Copies the stores in force to the paths in the copied `sets.json`.
    private mutating func copyStores() throws {
        var relocated: [String: String] = [:]
        var directories: [String: String] = [:]
        let named = Set(sets.promotions.flatMap { $0.streams.values.flatMap { [$0.to, $0.from] } })
        var targets = (1...).lazy.map { "sets/\($0)" }.filter { !named.contains($0) }.makeIterator()
        for stream in OpenStores.streams {
            let set = sets.set(of: stream)
            var target = set
            if set.hasPrefix("/") {
                target = relocated[set] ?? targets.next() ?? set
                relocated[set] = target
            }
            let prefix = target == "." ? "" : target + "/"
            directories[prefix] = sets.resolve(set)
            try copyIfThere(sets.presentPath(of: stream), "\(prefix)\(stream).sqlite", .store)
        }
        for (prefix, directory) in directories.sorted(by: { $0.key < $1.key }) {
            let corrections = CorrectionStore.fileName
            try copyIfThere("\(directory)/\(corrections)", prefix + corrections, .corrections)
            let replay = "\(directory)/replay.json"
            if FileManager.default.fileExists(atPath: replay) {
                try note(Data(contentsOf: URL(fileURLWithPath: replay)), as: prefix + "replay.json")
            }
        }
        guard !sets.promotions.isEmpty else { return }
        try note(
            BackupManifest.encode(BackedUpSets(sets.promotions, relocated)),
            as: PromotionJournal.fileName)
    }

    private mutating func note(_ bytes: Data, as name: String) throws {
        try makeDirectory(of: name)
        try DurableFile.replace("\(work)/\(name)", with: bytes)
        try manifest.add(name, .note, in: work)
    }

    private mutating func copyIfThere(
        _ path: String, _ name: String, _ kind: BackupManifest.Kind
    ) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        try makeDirectory(of: name)
        let copy = "\(work)/\(name)"
        let show = show
        show("copying \(name) ...")
        do {
            // Check the contents first: page checksums alone do not detect a wrong file.
            switch kind {
            case .store: try StoreReader(path: path).snapshot { _ in }
            case .corrections, .deliveries, .conversions:
                try CheckedPages.openToRead(path).inDatabase {
                    try StoreMark.requireTables(in: $0, path: path)
                }
            case .log, .note: break
            }
            try FileCopy.write(path, to: copy) { done, all in
                show("copying \(name): \(done * 100 / max(all, 1)) %")
            }
        } catch {
            // The error identifies which of the two files it concerns.
            throw StoreError(error, operation: "copy", path: path)
        }
        try Self.sync(copy)
        try manifest.add(name, kind, in: work)
    }

    private func makeDirectory(of name: String) throws {
        try FileManager.default.createDirectory(
            atPath: ("\(work)/\(name)" as NSString).deletingLastPathComponent,
            withIntermediateDirectories: true)
    }

    private static func sync(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        guard descriptor >= 0, fsync(descriptor) == 0 else {
            throw CommandError.failure("cannot write \(path): \(SystemRefusal.explanation())")
        }
    }
}

/// `sets.json` of a backup, in which stores outside the data directory have paths inside the backup.
private struct BackedUpSets: Encodable {
    var promotions: [StorePromotion]

    init(_ promotions: [StorePromotion], _ relocated: [String: String]) {
        self.promotions = promotions.map { promotion in
            var promotion = promotion
            promotion.streams = promotion.streams.mapValues { move in
                StorePromotion.Move(
                    to: relocated[move.to] ?? move.to, from: relocated[move.from] ?? move.from)
            }
            return promotion
        }
    }
}
