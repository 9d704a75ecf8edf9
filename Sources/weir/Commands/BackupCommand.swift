import ArgumentParser
import Engine
import EventLog
import Foundation
import JSON
import Program
import Reports
import Store
import Streams
import Wording

struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract:
            "Copies a data directory while programs run, and checks and restores such copies.",
        discussion: """
            A backup contains the stores in force with sets.json, deliveries.sqlite, conversions.sqlite and the \
            embedded log. Each file is consistent, and the log is the newest copy. With Kafka, a backup contains \
            the stores without the log.

            A full backup is a data directory too. Incremental backups share one directory, and each of them \
            writes only what has changed. restore creates a data directory from either form. \
            docs/guides/back-up-and-restore.md explains the next steps.

              weir backup /mnt/backups/2026-11-22
              weir backup verify /mnt/backups/2026-11-22
              weir backup /mnt/backups/daily --incremental
              weir backup list /mnt/backups/daily
              weir backup restore /mnt/backups/daily --data data
            """,
        subcommands: [
            BackupWriteCommand.self, BackupVerifyCommand.self, BackupListCommand.self,
            BackupPruneCommand.self, BackupRestoreCommand.self, BackupRevisionsCommand.self,
        ],
        defaultSubcommand: BackupWriteCommand.self)
}

struct BackupWriteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "write",
        abstract:
            "Copies a data directory to a new one, or adds an incremental backup to a directory.",
        discussion: """
            Programs keep running, and the command changes no data. weir-partner-postbacks waits while its file \
            is copied. While weir promote --emit sends corrections, the command fails. It never writes to an \
            existing directory, unless --incremental is given.

            With --incremental, the directory contains several backups, named after their UTC times. Their files \
            are in parts of 64 KiB, and a part that an earlier backup has is not written again. While it runs, \
            the command needs space for one full copy.
            """)

    @Argument(help: "The directory to create, or that of incremental backups.")
    var directory: String
    @Flag(
        help: ArgumentHelp(
            "Add a backup to a directory of incremental backups. [WEIR_INCREMENTAL=1]"))
    var incremental = false
    @Option(
        help: ArgumentHelp(
            "Afterwards delete all but this number of incremental backups (WEIR_KEEP; default: delete none).",
            valueName: "count"))
    var keep: Int?
    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var access: FileAccessOptions
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        let source = try data.single(
            "a backup contains one data directory: give --data once, and make one backup for each")
        var logPath: String?
        if case .sqlite(let path) = try LogAddress(log.text(data)) { logPath = path }
        let isIncremental = try Environment().isSet("WEIR_INCREMENTAL", option: incremental)
        guard isIncremental || keep == nil else {
            throw CommandError.usage(
                "--keep is for incremental backups: give --incremental too, or delete directories of full backups yourself"
            )
        }
        let parent = URL(fileURLWithPath: directory).deletingLastPathComponent().path
        guard FileManager.default.fileExists(atPath: parent) else {
            throw CommandError.usage(
                "\(parent) does not exist: mount the disk of the backups, or create the directory")
        }
        let repository = BackupRepository(directory)
        guard isIncremental else {
            guard !repository.isThere else {
                throw CommandError.usage(
                    "\(directory) has incremental backups: give --incremental, or another directory"
                )
            }
            var writer = try BackupWriter(
                data: source, logPath: logPath, target: directory, show: Console.show(progress:))
            let manifest = try Console.removingProgress { try writer.write() }
            try BufferedOutput.print(
                BackupReport(directory: directory, manifest: manifest), as: format)
            return
        }
        let kept = try keep.map(BackupPruneCommand.checked) ?? BackupPruneCommand.keptByEnvironment
        try Console.removingProgress {
            let (added, lock) = try repository.backUp(
                source, logPath: logPath, show: Console.show(progress:))
            let pruned = try kept.map { try repository.prune(keeping: $0) }
            withExtendedLifetime(lock) {}
            var report = BackupReport(directory: directory, manifest: added.manifest)
            report.added = added
            report.pruned = pruned
            Console.show(progress: "")
            try BufferedOutput.print(report, as: format)
        }
    }
}

struct BackupVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks a backup: exit code 0 if all of it can be used, otherwise 1.",
        discussion: """
            Compares every file and the list of files with their SHA-256, and reports files that are not listed. \
            Reads every page and every record, computes the digest of the stores again, and compares every next \
            offset with the copy of the log. The command changes nothing.

            In a directory of incremental backups, it compares all parts of all backups with their SHA-256. It \
            reads the newest one, or that of --at, completely, from a temporary copy in the directory.
            """)

    @Argument(help: "The directory that weir backup wrote.")
    var directory: String
    @Option(
        help: ArgumentHelp(
            "Only this incremental backup (WEIR_BACKUP; default: all of them, the newest one completely).",
            valueName: "name"))
    var at: String?
    @Flag(
        help: """
            Only compare files and parts with their SHA-256: without a temporary copy. [WEIR_QUICK=1]
            """)
    var quick = false
    @OptionGroup var format: ReportFormatOptions

    mutating func run() throws {
        let format = try format.chosen()
        at = at ?? Environment()["WEIR_BACKUP"]
        quick = try Environment().isSet("WEIR_QUICK", option: quick)
        let repository = BackupRepository(directory)
        let report = try Console.removingProgress {
            repository.isThere ? try verify(repository) : try verifyFull()
        }
        try BufferedOutput.print(report, as: format)
        let faults = report.faults ?? []
        guard faults.isEmpty else {
            throw CommandError.failure(
                "\(directory) cannot be used: \(counted(faults.count, "fault")), see above")
        }
    }

    private func verifyFull() throws -> BackupReport {
        guard at == nil else {
            throw CommandError.usage(
                "--at is for directories of incremental backups: leave it out")
        }
        let verification = try BackupVerification(
            directory: directory, isQuick: quick, show: Console.show(progress:))
        return BackupReport(
            directory: directory, manifest: verification.manifest, faults: verification.faults,
            isQuick: quick)
    }

    private func verify(_ repository: BackupRepository) throws -> BackupReport {
        let lock = try repository.lockToRead()
        defer { withExtendedLifetime(lock) {} }
        let verification = try RepositoryVerification(
            repository, at: at, isQuick: quick, show: Console.show(progress:))
        var report = BackupReport(
            directory: directory, manifest: verification.complete?.manifest,
            faults: verification.faults)
        report.verified = verification.names
        report.isQuick = quick
        return report
    }
}

struct BackupListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the incremental backups of a directory, the oldest first.",
        discussion: """
            bytes is the size of the restored files; new_bytes is the size of parts that no older backup of the \
            list has. The command reads lists only: verify checks parts.
            """)

    @Argument(help: "A directory of incremental backups.", completion: .directory)
    var directory: String
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        let repository = try BackupRepository(present: directory)
        let lock = try repository.lockToRead()
        defer { withExtendedLifetime(lock) {} }
        let report = try BackupListReport(repository)
        try BufferedOutput.print(report, as: format)
        guard !report.hasFaults else { throw CommandError.differs }
    }
}

struct BackupPruneCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Deletes old incremental backups.",
        discussion: """
            Deletes all but the newest backups, and then the parts that no other backup has. If the command is \
            killed, run it again.

              weir backup prune /mnt/backups/daily --keep 14
            """)

    @Argument(help: "A directory of incremental backups.", completion: .directory)
    var directory: String
    @Option(
        help: ArgumentHelp("The number of backups that stay (WEIR_KEEP).", valueName: "count"))
    var keep: Int?
    @OptionGroup var format: ReportFormatOptions

    static func checked(_ count: Int) throws(CommandError) -> Int {
        guard count >= 1 else { throw .usage("--keep is \(count): write 1 or more") }
        return count
    }

    static var keptByEnvironment: Int? {
        get throws { try Environment().count("WEIR_KEEP").map(checked) }
    }

    func run() throws {
        let format = try format.chosen()
        guard let count = try keep.map(Self.checked) ?? Self.keptByEnvironment else {
            throw CommandError.usage("--keep is missing: write the number of backups that stay")
        }
        let repository = try BackupRepository(present: directory)
        let lock = try repository.lockToWrite()
        defer { withExtendedLifetime(lock) {} }
        try repository.removeWork()
        try BufferedOutput.print(try repository.prune(keeping: count), as: format)
    }
}

struct BackupReport: Report {
    let directory: String
    /// Nil if its list is damaged.
    let manifest: BackupManifest?
    /// The faults found by a verification; nil for a new backup.
    var faults: [String]?
    /// The new incremental backup, and the deleted ones.
    var added: AddedBackup?
    var pruned: PrunedBackups?
    /// The names of verified incremental backups.
    var verified: [String]?
    /// Whether only their SHA-256 were compared.
    var isQuick = false

    var table: String {
        var lines: [String] = []
        if let manifest {
            let table = TextTable(
                manifest.files,
                [
                    .text("file") { $0.name }, .text("kind") { $0.kind.rawValue },
                    .number("bytes") { $0.bytes },
                ])
            lines += table.shownLines
            if let digest = manifest.digest { lines.append("digest \(digest)") }
        }
        if let added {
            lines.append(
                "\(added.name): \(added.newParts) of \(counted(added.parts, "part")) are new, \(added.newBytes) bytes"
            )
        }
        if let pruned { lines.append(pruned.summary) }
        lines += faults?.map { "wrong: \($0.withoutControls)" } ?? []
        if faults?.isEmpty == true {
            lines.append(
                isQuick
                    ? "all files have their SHA-256"
                    : "all files are undamaged and consistent with each other")
            if let verified {
                lines.append("verified: \(verified.joined(separator: ", "))")
            } else if manifest?.checksum == nil {
                lines.append(
                    "an earlier version wrote \(BackupManifest.fileName) without a checksum of its own"
                )
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    func write(to json: inout JSONText) {
        json.object { json in
            json.member("directory", directory)
            json.member("at_ms", manifest?.atMilliseconds)
            json.member("digest", manifest?.digest)
            if let added {
                json.member("name", added.name)
                json.member("parts", added.parts)
                json.member("new_parts", added.newParts)
                json.member("new_bytes", added.newBytes)
            }
            if let pruned { json.member("deleted", pruned.names) }
            if let verified { json.member("verified", verified) }
            json.objects("files", manifest?.files ?? []) { file, json in
                json.member("name", file.name)
                json.member("kind", file.kind.rawValue)
                json.member("bytes", file.bytes)
                json.member("sha256", file.sha256)
            }
            if let faults { json.member("faults", faults) }
        }
    }
}

extension PrunedBackups: Report {
    var summary: String {
        "\(counted(names.count, "backup")) deleted, \(kept.count) kept; "
            + "\(counted(parts, "part")) of \(bytes) bytes deleted"
    }

    var table: String { summary + "\n" }

    func write(to json: inout JSONText) {
        json.object { json in
            json.member("deleted", names)
            json.member("kept", kept)
            json.member("deleted_parts", parts)
            json.member("deleted_bytes", bytes)
        }
    }
}

/// The backups of a directory of incremental ones.
struct BackupListReport: Report {
    private struct Line {
        var name: String
        /// Nil for a damaged list.
        var manifest: BackupManifest?
        var newBytes: Int?
        var fault: String?
    }

    private var lines: [Line] = []
    var hasFaults: Bool { lines.contains { $0.fault != nil } }

    init(_ repository: BackupRepository) throws {
        var known: Set<String> = []
        for name in try repository.names() {
            do throws(CommandError) {
                let manifest = try repository.manifest(named: name)
                var newBytes = 0
                for part in manifest.files.flatMap({ $0.parts ?? [] })
                where known.insert(part).inserted {
                    var found = stat()
                    if stat(repository.partPath(part), &found) == 0 {
                        newBytes += Int(found.st_size)
                    }
                }
                lines.append(Line(name: name, manifest: manifest, newBytes: newBytes))
            } catch {
                lines.append(Line(name: name, fault: error.explanation))
            }
        }
    }

    var table: String {
        TextTable(
            lines,
            [
                .text("backup") { $0.name },
                .number("files") { $0.manifest?.files.count },
                .number("bytes") { $0.manifest?.bytes },
                .number("new_bytes") { $0.newBytes },
                .text("data") { $0.manifest?.data ?? "" },
            ]
        ).text + lines.compactMap(\.fault).map { "wrong: \($0.withoutControls)\n" }.joined()
    }

    func write(to json: inout JSONText) {
        json.object { json in
            json.objects("backups", lines) { line, json in
                json.member("name", line.name)
                json.member("at_ms", line.manifest?.atMilliseconds)
                json.member("files", line.manifest?.files.count)
                json.member("bytes", line.manifest?.bytes)
                json.member("new_bytes", line.newBytes)
                json.member("digest", line.manifest?.digest)
                json.member("data", line.manifest?.data)
                json.member("fault", line.fault)
            }
        }
    }
}
