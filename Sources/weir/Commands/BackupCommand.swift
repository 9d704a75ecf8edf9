import ArgumentParser
import Engine
import EventLog
import JSON
import Program
import Reports
import Streams
import Wording

struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copies a data directory while programs run, and checks such a copy.",
        discussion: """
            A backup is a data directory too. It contains the stores in force with sets.json, deliveries.sqlite, \
            conversions.sqlite and the embedded log. Each file is consistent, and the log is the newest copy. \
            With Kafka, a backup contains the stores without the log.

            To restore a backup, stop all programs and replace the data directory with a copy of the backup. \
            docs/guides/back-up-and-restore.md explains the next steps.

              weir backup /mnt/backups/2026-11-22
              weir backup verify /mnt/backups/2026-11-22
            """,
        subcommands: [BackupWriteCommand.self, BackupVerifyCommand.self],
        defaultSubcommand: BackupWriteCommand.self)
}

struct BackupWriteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "write",
        abstract: "Copies a data directory to a new one.",
        discussion: """
            Programs keep running, and the command changes no data. weir-partner-postbacks waits while its file \
            is copied. While weir promote --emit sends corrections, the command fails. It never writes to an \
            existing directory.
            """)

    @Argument(help: "The directory to create.")
    var directory: String
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
        var writer = try BackupWriter(
            data: source, logPath: logPath, target: directory, show: Console.show(progress:))
        let manifest = try Console.removingProgress { try writer.write() }
        try BufferedOutput.print(BackupReport(directory: directory, manifest: manifest), as: format)
    }
}

struct BackupVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks a backup: exit code 0 if all of it can be used, otherwise 1.",
        discussion: """
            Compares every file and the list of files with their SHA-256, and reports files that are not listed. \
            Reads every page and every record, computes the digest of the stores again, and compares every next \
            offset with the copy of the log. The command writes nothing.
            """)

    @Argument(help: "The directory that weir backup wrote.")
    var directory: String
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        let verification = try Console.removingProgress {
            try BackupVerification(directory: directory, show: Console.show(progress:))
        }
        try BufferedOutput.print(
            BackupReport(
                directory: directory, manifest: verification.manifest, faults: verification.faults),
            as: format)
        guard verification.faults.isEmpty else {
            throw CommandError.failure(
                "\(directory) cannot be used: \(counted(verification.faults.count, "fault")), see above"
            )
        }
    }
}

struct BackupReport: Report {
    let directory: String
    let manifest: BackupManifest
    /// The faults found by a verification; nil for a new backup.
    var faults: [String]?

    var table: String {
        let table = TextTable(
            manifest.files,
            [
                .text("file") { $0.name }, .text("kind") { $0.kind.rawValue },
                .number("bytes") { $0.bytes },
            ])
        var lines = table.shownLines
        if let digest = manifest.digest { lines.append("digest \(digest)") }
        lines += faults?.map { "wrong: \($0.withoutControls)" } ?? []
        if faults?.isEmpty == true {
            lines.append("all files are undamaged and consistent with each other")
            if manifest.checksum == nil {
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
            json.member("at_ms", manifest.atMilliseconds)
            json.member("digest", manifest.digest)
            json.objects("files", manifest.files) { file, json in
                json.member("name", file.name)
                json.member("kind", file.kind.rawValue)
                json.member("bytes", file.bytes)
                json.member("sha256", file.sha256)
            }
            if let faults { json.member("faults", faults) }
        }
    }
}
