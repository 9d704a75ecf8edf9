import ArgumentParser
import EventLog
import Inspection
import Streams
import Worker

/// `weir backup`
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copies a data directory while all is in use, and checks such a copy.",
        discussion: """
            The copy is a data directory again: the stores in force with sets.json, deliveries.sqlite, \
            conversions.sqlite, and the embedded log, each consistent in itself, and the log the \
            furthest. To restore it, stop everything and put a copy of it in the place of the data \
            directory; docs/backup.md says what happens then. Whoever has the log in Kafka backs up the \
            stores alone.

              weir backup /mnt/backups/2026-11-22
              weir backup verify /mnt/backups/2026-11-22
            """,
        subcommands: [BackupWriteCommand.self, BackupVerifyCommand.self],
        defaultSubcommand: BackupWriteCommand.self)

    static func show(_ words: String) {
        guard StandardError.isTerminal else { return }
        StandardError.show(String(words.prefix(StandardError.columns)))
    }
}

/// `weir backup write`, or `weir backup` alone
struct BackupWriteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "write",
        abstract: "Copies a data directory to a new one.",
        discussion: """
            Nothing has to stop, and nothing is lost or changed. weir-partner-postbacks waits while its \
            file is copied. An existing directory is never written to.
            """)

    @Argument(help: "The directory to make.")
    var directory: String
    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @Option(help: "table or json (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: ReportFormat.table)
        guard data.directories.count == 1, let source = data.directories.first else {
            throw CommandError.usage(
                "a backup is of one data directory: give --data once, and back up one after another"
            )
        }
        let address = Environment().log(log.log, dataDirectories: data.directories)
        var logPath: String?
        if case .sqlite(let path) = try LogAddress(address) { logPath = path }
        var writer = try BackupWriter(
            data: source, logPath: logPath, target: directory, show: BackupCommand.show)
        let manifest: BackupManifest
        do {
            defer { BackupCommand.show("") }
            manifest = try writer.write()
        }
        let output = BufferedOutput()
        try output.write(BackupReport(directory: directory, manifest: manifest).text(format))
        try output.flush()
    }
}

/// `weir backup verify`
struct BackupVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks a backup: exit code 0 when all of it can be used, else 1.",
        discussion: """
            Compares every file with its SHA-256, and the list of files with its own, names files that are not \
            listed, reads every page and every record, computes the digest \
            of the stores again, and holds every next offset against the copy of the log. Nothing is \
            written.
            """)

    @Argument(help: "The directory that weir backup wrote.")
    var directory: String
    @Option(help: "table or json (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: ReportFormat.table)
        let verification: BackupVerification
        do {
            defer { BackupCommand.show("") }
            verification = try BackupVerification(
                directory: directory, show: BackupCommand.show)
        }
        let output = BufferedOutput()
        try output.write(
            BackupReport(
                directory: directory, manifest: verification.manifest,
                faults: verification.faults
            ).text(format))
        try output.flush()
        guard verification.faults.isEmpty else {
            throw CommandError.failure(
                "\(directory) cannot be used as it is: \(verification.faults.count) faults, see above"
            )
        }
    }
}

/// What a backup consists of, in words.
struct BackupReport {
    let directory: String
    let manifest: BackupManifest
    /// Of a verification: what is wrong.
    var faults: [String]?

    func text(_ format: ReportFormat) -> String {
        switch format {
        case .table: table
        case .json: json
        }
    }

    private var table: String {
        let table = TextTable(
            header: ["file", "kind", "bytes"], isNumber: [false, false, true],
            rows: manifest.files.map { [$0.name, $0.kind.rawValue, "\($0.bytes)"] })
        var lines = table.lines
        if let digest = manifest.digest { lines.append("digest \(digest)") }
        lines += faults?.map { "wrong: \($0.withoutControls)" } ?? []
        if faults?.isEmpty == true {
            lines.append("all of it is what was written, and fits together")
            if manifest.checksum == nil {
                lines.append(
                    "an earlier version wrote \(BackupManifest.fileName), without a checksum of itself"
                )
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private var json: String {
        var json = JSONText()
        json.object { json in
            json.name("directory")
            json.string(directory)
            json.name("at_ms")
            json.raw(manifest.atMilliseconds)
            json.name("digest")
            json.string(manifest.digest)
            json.name("files")
            json.array { json in
                for file in manifest.files {
                    json.object { json in
                        json.name("name")
                        json.string(file.name)
                        json.name("kind")
                        json.string(file.kind.rawValue)
                        json.name("bytes")
                        json.raw(file.bytes)
                        json.name("sha256")
                        json.string(file.sha256)
                    }
                }
            }
            if let faults {
                json.name("faults")
                json.array { json in for fault in faults { json.string(fault) } }
            }
        }
        return json.text.withoutControlsInJSON + "\n"
    }
}
