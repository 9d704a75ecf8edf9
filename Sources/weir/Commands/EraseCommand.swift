import ArgumentParser
import Engine
import EventLog
import Foundation
import History
import JSON
import Program
import Reports
import Streams
import Wording

struct EraseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Erases the records of one person, and names the copies that contain them.",
        discussion: """
            Give the install id (idfv) of a device or the appAccountToken of a customer. The command reads all \
            topics of the log and finds records that contain the id: in the key, a header or the value, also \
            inside signed notifications. For an account it adds the records of the same purchases that have no \
            token.

            On the embedded log it empties the records in place. Offset, time, type, length and SHA-256 of a \
            record stay, so numbers, offsets and explanations do not change. On Kafka it appends tombstones if \
            the topic is compacted. Otherwise a record stays until the retention of its topic, and the command \
            prints until when.

            The command also erases the state of the install in conversions.sqlite and the bytes of rejected \
            records in the stores of --data. Collectors and workers may run. Copies are only named: archives, \
            snapshots, backups. Give their places with --also.

            Run it with --dry-run first. You can repeat the command: after an interruption, it continues. The \
            operator's log contains who erased what, with a digest of the id. docs/concepts/privacy.md has more.

              weir erase --install 5B1C7E3A-8A41-4F0E-9C55-0D0A4E6B7F21 --dry-run
              weir erase --install 5B1C7E3A-8A41-4F0E-9C55-0D0A4E6B7F21 --reason "request 4711"
              weir erase --account 7e3fb204-0c52-4f6d-9d2e-3a8e1a2f9b44 --reason "request 4712" --also backups
            """)

    @Option(help: ArgumentHelp("The install id (idfv) (WEIR_INSTALL).", valueName: "id"))
    var install: String?
    @Option(
        help: ArgumentHelp("The appAccountToken of a customer (WEIR_ACCOUNT).", valueName: "token"))
    var account: String?
    @Option(
        help:
            "Why the data is erased, for the operator's log, such as the number of the request (WEIR_REASON). Required without --dry-run. Must not contain the id."
    )
    var reason: String?
    @Flag(help: "Print what would be erased, and change nothing (WEIR_DRY_RUN).")
    var dryRun = false
    @Option(
        help: ArgumentHelp(
            "A file or directory that may contain copies, such as an archive or backups; repeatable (WEIR_ALSO, separated by colons).",
            valueName: "path"), completion: .file())
    var also: [String] = []
    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var access: FileAccessOptions
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        let subject = try subject()
        let isDry = try Environment().isSet("WEIR_DRY_RUN", option: dryRun)
        let reason = try checkedReason(subject, isDry: isDry)
        var erasure = Erasure(
            of: subject, in: try log.open(.existing, data, pipelines),
            directories: data.directories, pipelines.directory(of: data), others: try copies())
        erasure.isBackup = {
            FileManager.default.fileExists(atPath: "\($0)/\(BackupManifest.fileName)")
        }
        erasure.hasParts = { BackupRepository($0).isThere }
        let progress = EraseProgress()
        defer { progress.end() }
        erasure.onProgress = progress.add
        var findings = try isDry ? erasure.find() : erase(erasure, subject, reason)
        progress.end()
        findings.copies += try incrementalBackups(erasure)
        try BufferedOutput.print(
            EraseReport(subject: subject, findings: findings, isDry: isDry), as: format)
        Console.write(findings.summary(isDry: isDry))
    }

    private func checkedReason(_ subject: ErasureSubject, isDry: Bool) throws -> String {
        let reason = reason ?? Environment()["WEIR_REASON"] ?? ""
        guard isDry || !reason.isEmpty else {
            throw CommandError.usage(
                "the reason is missing: give --reason, for example the number of the request, or --dry-run"
            )
        }
        guard !subject.isIn(reason) else { throw ErasureError.idInReason }
        return reason
    }

    private func erase(
        _ erasure: Erasure, _ subject: ErasureSubject, _ reason: String
    ) throws -> ErasureFindings {
        var findings = ErasureFindings()
        try OperatorLog(directories: data.directories).record(
            .erase, of: "\(subject.words): \(reason)", by: .ofCommand
        ) {
            findings = try erasure.run()
            return findings.summary(isDry: false)
        }
        return findings
    }

    /// The incremental backups that contain records. The databases of each are put together in a temporary directory,
    /// one after the other.
    private func incrementalBackups(_ erasure: Erasure) throws -> [ErasureFindings.Copy] {
        var found: [ErasureFindings.Copy] = []
        let places = try copies() + data.directories
        for repository in BackupRepository.all(below: places) {
            let lock = try repository.lockToRead()
            defer { withExtendedLifetime(lock) {} }
            var counts: [[String]: Int] = [:]
            for name in try repository.names() {
                var copy = ErasureFindings.Copy(
                    path: "\(repository.path), backup \(name)", records: 0,
                    remedy: "take a new backup, then weir backup prune \(repository.path) --keep 1")
                do {
                    for file in try repository.manifest(named: name).files {
                        let parts = file.parts ?? []
                        if counts[parts] == nil {
                            counts[parts] = try repository.withFile(of: parts) {
                                try erasure.records(inCopy: $0)
                            }
                        }
                        copy.records += counts[parts] ?? 0
                    }
                } catch {
                    copy.remedy =
                        "it cannot be read, so it may contain records (\(error)): \(copy.remedy)"
                    found.append(copy)
                    continue
                }
                if copy.records > 0 { found.append(copy) }
            }
        }
        return found
    }

    private func subject() throws -> ErasureSubject {
        // An option of one kind excludes the variable of the other.
        let environment = account == nil && install == nil ? Environment() : nil
        switch (install ?? environment?["WEIR_INSTALL"], account ?? environment?["WEIR_ACCOUNT"]) {
        case (let id?, nil): return try ErasureSubject(.install, id)
        case (nil, let token?): return try ErasureSubject(.account, token)
        default: throw CommandError.usage("give one of --install ID and --account TOKEN")
        }
    }

    /// The places of copies: those of the options, and the archive of the environment.
    private func copies() throws -> [String] {
        let environment = Environment()
        let named =
            also.isEmpty
            ? (environment["WEIR_ALSO"] ?? "").split(separator: ":").map(String.init) : also
        let archive = try environment.archivePath(nil)
        return named
            + [archive].compactMap(\.self).filter(FileManager.default.fileExists(atPath:))
    }
}

/// Progress on a terminal.
private final class EraseProgress {
    private var progress = Progress(label: "erase", isWanted: true)

    func add(_ count: Int) { progress.add(count, behind: nil) }

    func end() { progress.end() }
}

/// What was or would be erased, and what remains.
struct EraseReport: Report {
    let subject: ErasureSubject
    let findings: ErasureFindings
    let isDry: Bool

    private struct Line {
        var what: String
        var place: String
        var count: Int
        var offsets = ""
        var then: String
    }

    var table: String {
        guard !findings.isEmpty else { return "nothing found\n" }
        return TextTable(
            lines,
            [
                .text("what") { $0.what }, .text("where") { $0.place },
                .number("count") { $0.count }, .text("offsets") { $0.offsets },
                .text("then") { $0.then },
            ], keyCount: 2
        ).text
    }

    private var lines: [Line] {
        findings.records.map { records in
            Line(
                what: "records", place: "\(records.topic)/\(records.partition)",
                count: records.records.count,
                offsets: Self.ranges(records.records.map(\.offset)), then: fate(of: records))
        }
            + findings.installs.map {
                Line(
                    what: "install state", place: $0.path, count: $0.states,
                    then: isDry ? "would be deleted" : "deleted")
            }
            + findings.refused.map { refused in
                Line(
                    what: "rejected records", place: refused.path, count: refused.places.count,
                    offsets: Self.ranges(refused.places.map(\.offset)),
                    then: isDry ? "would be emptied" : "emptied")
            }
            + findings.copies.map {
                Line(what: "copy", place: $0.path, count: $0.records, then: $0.remedy)
            }
    }

    private func fate(of records: ErasureFindings.Records) -> String {
        switch records.fate {
        case .emptied: isDry ? "would be emptied" : "emptied"
        case .compacted: "tombstones: until compaction"
        case .kept:
            records.expiryMilliseconds.map { "until \(UTC.text(milliseconds: $0)) (retention)" }
                ?? "stay: the topic has no retention"
        }
    }

    /// Offsets such as `3-5,9`.
    private static func ranges(_ offsets: [Int64]) -> String {
        var parts: [ClosedRange<Int64>] = []
        for offset in offsets.sorted() {
            if let last = parts.last, last.upperBound + 1 == offset {
                parts[parts.count - 1] = last.lowerBound...offset
            } else {
                parts.append(offset...offset)
            }
        }
        return parts.map {
            $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)"
        }.joined(separator: ",")
    }

    func write(to json: inout JSONText) {
        json.object { json in
            json.member("subject", subject.words)
            json.member("dry_run", isDry)
            json.objects("records", findings.records) { records, json in
                json.member("topic", records.topic)
                json.member("partition", records.partition)
                json.member("fate", records.fate.name)
                json.member(
                    "kept_until",
                    records.expiryMilliseconds.map { UTC.text(milliseconds: $0) })
                json.objects("records", records.records) { record, json in
                    json.member("offset", record.offset)
                    json.member("timestamp_ms", record.timestampMilliseconds)
                }
            }
            json.objects("installs", findings.installs) { installs, json in
                json.member("path", installs.path)
                json.member("states", installs.states)
            }
            json.objects("rejected", findings.refused) { refused, json in
                json.member("path", refused.path)
                json.objects("records", refused.places) { place, json in
                    json.member("partition", place.partition)
                    json.member("offset", place.offset)
                }
            }
            json.objects("copies", findings.copies) { copy, json in
                json.member("path", copy.path)
                json.member("records", copy.records)
                json.member("remedy", copy.remedy)
            }
            json.member("words", findings.summary(isDry: isDry))
        }
    }
}
