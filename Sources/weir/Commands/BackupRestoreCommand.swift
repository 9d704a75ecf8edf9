import ArgumentParser
import ConfigurationValues
import EmbeddedLog
import Engine
import EventLog
import Foundation
import History
import JSON
import Program
import Reports
import Store
import Streams
import Wording

struct BackupRestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Creates a data directory from a backup.",
        discussion: """
            Copies a full backup, or one of a directory of incremental ones, to a new data directory. The copy is \
            verified completely before it is put in place, and the backup is not changed. The data directory must \
            not exist, or be empty: stop all programs and move the damaged one away.

            Then the command reads the topic partner-postbacks of the log. Revisions that partners received after \
            the backup are recorded, so that no document gets one of them again. A backup with the embedded log \
            contains the topic. For Kafka give --log.

              weir backup restore /mnt/backups/2026-11-22 --data data
              weir backup restore /mnt/backups/daily --at 2026-11-22T03-15-00Z --data data
              weir backup restore /mnt/backups/daily --data data --log kafka://kafka-1.example.net:9092
            """)

    @Argument(help: "A full backup, or a directory of incremental ones.", completion: .directory)
    var source: String
    @Option(
        help: ArgumentHelp(
            "The name of an incremental backup, see weir backup list (WEIR_BACKUP; default: the newest one).",
            valueName: "name"))
    var at: String?
    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var pipelines: PipelinesOptions
    @Flag(
        help:
            "Do not read the topic partner-postbacks. Run weir backup revisions before you start workers or promote. [WEIR_SKIP_REVISIONS=1]"
    )
    var skipRevisions = false
    @OptionGroup var access: FileAccessOptions
    @OptionGroup var format: ReportFormatOptions

    mutating func run() throws {
        let format = try format.chosen()
        at = at ?? Environment()["WEIR_BACKUP"]
        skipRevisions = try Environment().isSet("WEIR_SKIP_REVISIONS", option: skipRevisions)
        let target = try data.single("a backup is restored to one directory: give --data once")
        let repository = BackupRepository(source)
        let lock = repository.isThere ? try repository.lockToRead() : nil
        defer { withExtendedLifetime(lock) {} }
        let backup = try BackupSource(source, at: at)
        let restoration = try BackupRestoration(backup, data: target)
        let address = try logAddress(backup.manifest)
        // Before the copy, which may take long.
        if case .kafka? = address { _ = try address.map(replaySource)?.openLog().topics() }
        var report = RestoreReport(backup: backup, data: target, log: log.log)
        report.hasOwnLog = address == nil && !skipRevisions
        try Console.removingProgress {
            try restoration.run(show: Console.show(progress:)) { work in
                guard !skipRevisions else { return }
                let restored = LogAddress.sqlite(path: "\(work)/log.sqlite")
                let reading = PublishedRevisions(
                    data: work, source: replaySource(address ?? restored))
                report.revisions = try reading.read(show: Console.show(progress:))
            }
        }
        report.offsets = try RestoreReport.offsets(in: target)
        try BufferedOutput.print(report, as: format)
    }

    /// The log to read; nil for the restored one, or for none.
    private func logAddress(_ manifest: BackupManifest) throws -> LogAddress? {
        let address = try LogAddress(log.text(data))
        guard !skipRevisions else { return nil }
        guard case .sqlite(let path) = address, !FileManager.default.fileExists(atPath: path) else {
            return address
        }
        guard log.log == nil, Environment()["WEIR_LOG"] == nil else {
            throw CommandError.usage(
                "there is no log at \(address): correct --log, or leave it out to use the log in the backup"
            )
        }
        let kinds = Set(manifest.files.map(\.kind))
        guard kinds.contains(.log) || !kinds.contains(.store) else {
            throw CommandError.usage(
                "the backup contains no log, so published revisions cannot be read: give --log kafka://HOST:PORT, or --skip-revisions"
            )
        }
        return nil
    }

    private func replaySource(_ address: LogAddress) -> ReplaySource {
        ReplaySource(log: address, archivePath: nil, pipelines: pipelines.directory(of: data))
    }
}

struct BackupRevisionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revisions",
        abstract: "Reads the revisions that partners have, for restored stores.",
        discussion: """
            Reads the topic partner-postbacks, and records with the stores in force which revisions partners \
            received without them. weir backup restore does so itself. Run this command after you restored files \
            by copying, or lost corrections.sqlite, while no worker uses the stores. Documents then get no \
            revision a second time, and weir promote compares with what partners have.

              weir backup revisions --data data --log kafka://kafka-1.example.net:9092
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var access: FileAccessOptions
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        let directory = try data.single(
            "revisions are read for one data directory: give --data once")
        let reading = PublishedRevisions(
            data: directory,
            source: ReplaySource(
                log: try LogAddress(log.text(data)), archivePath: nil,
                pipelines: pipelines.directory(of: data)))
        let result = try Console.removingProgress {
            try reading.read(show: Console.show(progress:))
        }
        guard let result else {
            throw CommandError.failure(
                "\(directory) has no store of \(emittingStream), so it publishes no documents: give the --data directory of its worker"
            )
        }
        try BufferedOutput.print(RevisionsReport(result: result), as: format)
    }
}

/// The revisions that partners received without the stores in force of a data directory.
struct PublishedRevisions {
    let data: String
    let source: ReplaySource

    /// Reads and records them. Nil without a store that publishes documents, or if its topic is not in the log.
    func read(show: (String) -> Void) throws -> RevisionReading.Result? {
        let sets = try PromotionJournal(settledIn: data)
        let path = try sets.presentPath(of: emittingStream)
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        // No worker publishes meanwhile.
        let lock = try StoreLock(storePath: path)
        defer { withExtendedLifetime(lock) {} }
        let settings = try PostbacksFold.file(in: source.pipelines).settings
        let log = try source.openLog(settings)
        guard try log.topics().contains(where: { $0.name == settings.topic && !$0.isArchive })
        else { return RevisionReading.Result() }
        let reader = try log.reader(topic: settings.topic, group: settings.group)
        defer { reader.close() }
        let folded = try StoreReader(path: path).snapshot {
            FoldedLog(store: path, topic: $0.topic, logIdentity: $0.logIdentity)
        }
        if let refusal = try folded.refusal(of: reader) { throw WorkerError.changed(refusal) }
        var reading = try RevisionReading(
            directory: sets.directory(of: emittingStream), committed: reader.committedOffsets())
        return try reading.run(
            log, partnerTopic: source.pipelines.partnerPostbacksTopic()
        ) { show("reading partner-postbacks: \(counted($0, "document"))") }
    }
}

struct RevisionsReport: Report {
    let result: RevisionReading.Result

    var table: String { text + "\n" }

    var text: String {
        "partner-postbacks: \(counted(result.documents, "document")) read, \(result.recorded) unknown to the stores and recorded, \(counted(result.sent, "correction")) marked as sent"
    }

    func writeMembers(to json: inout JSONText) {
        json.member("documents", result.documents)
        json.member("recorded", result.recorded)
        json.member("marked_sent", result.sent)
    }

    func write(to json: inout JSONText) { json.object { writeMembers(to: &$0) } }
}

/// A restored data directory, and what to do next.
struct RestoreReport: Report {
    struct Offset {
        var stream: String
        var partition: Int32
        var next: Int64
    }

    let backup: BackupSource
    let data: String
    /// The given address.
    let log: String?
    /// Nil if the topic was not read.
    var revisions: RevisionReading.Result?
    /// Whether the revisions were read from the log in the backup.
    var hasOwnLog = false
    var offsets: [Offset] = []

    init(backup: BackupSource, data: String, log: String?) {
        self.backup = backup
        self.data = data
        self.log = log
    }

    /// The first record of each partition that is not folded.
    static func offsets(in data: String) throws -> [Offset] {
        let sets = try PromotionJournal(directory: data)
        return try OpenStores.streams.flatMap { stream -> [Offset] in
            let path = sets.path(of: stream)
            guard FileManager.default.fileExists(atPath: path) else { return [] }
            return try StoreReader(path: path).snapshot { snapshot in
                try snapshot.partitionStates().map {
                    Offset(stream: stream, partition: $0.partition, next: $0.nextOffset)
                }
            }
        }
    }

    private func command(_ words: [String]) -> String {
        ShellWords.text(
            ["weir"] + words + ["--data", data] + (log.map { ["--log", $0] } ?? []))
    }

    private var nextSteps: [String] {
        var steps = [
            "copy pipelines and secrets back, if they were in the directory",
            "check the files and their log: \(command(["check"]))",
            "see what the log has after the backup: \(command(["lag"]))",
        ]
        if hasOwnLog, offsets.contains(where: { $0.stream == emittingStream }) {
            steps.append(
                "revisions that partners received after the backup are only in the log of that time. If you still have it, restore again with --log sqlite:PATH. Otherwise do not promote with --emit before you have asked partners which revisions they have"
            )
        }
        if let revisions, revisions.recorded > 0 {
            steps.append(
                "partners have documents that these stores did not publish. If you promoted a set after the backup, promote it or a new replay again: "
                    + command(["promote", "DIR", "--emit"]))
        }
        if revisions == nil, offsets.contains(where: { $0.stream == emittingStream }) {
            steps.append(
                "read the revisions that partners have: \(command(["backup", "revisions"]))")
        }
        let time = UTC.text(milliseconds: backup.manifest.atMilliseconds)
        steps.append(
            "erase again what was erased after \(time): weir actions of the old data lists it")
        return steps + ["start the programs"]
    }

    var table: String {
        var lines = TextTable(
            offsets,
            [
                .text("stream") { $0.stream }, .number("partition") { $0.partition },
                .number("next_offset") { $0.next },
            ]
        ).shownLines
        lines += [
            "",
            "restored \(data) from \(backup.name): \(counted(backup.manifest.files.count, "file")), \(backup.manifest.bytes) bytes",
        ]
        if let digest = backup.manifest.digest { lines.append("digest \(digest)") }
        if let revisions { lines.append(RevisionsReport(result: revisions).text) }
        lines += ["", "next:"] + nextSteps.enumerated().map { "  \($0 + 1). \($1)" }
        return lines.map(\.withoutControls).joined(separator: "\n") + "\n"
    }

    func write(to json: inout JSONText) {
        json.object { json in
            json.member("data", data)
            json.member("backup", backup.name)
            json.member("at_ms", backup.manifest.atMilliseconds)
            json.member("digest", backup.manifest.digest)
            json.objects("files", backup.manifest.files) { file, json in
                json.member("name", file.name)
                json.member("kind", file.kind.rawValue)
                json.member("bytes", file.bytes)
                json.member("sha256", file.sha256)
            }
            json.objects("offsets", offsets) { offset, json in
                json.member("stream", offset.stream)
                json.member("partition", offset.partition)
                json.member("next_offset", offset.next)
            }
            if let revisions {
                json.object("revisions") {
                    RevisionsReport(result: revisions).writeMembers(to: &$0)
                }
            }
            json.member("next", nextSteps)
        }
    }
}
