import ArgumentParser
import Engine
import EventLog
import History
import JSON
import Program
import Reports
import Streams
import Wording

struct ExplainCommand: CellCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Shows the records of a number, and adds them up.",
        discussion: """
            Selects rows of a dump or the funnel with --where, --since and --until. Prints the stored number, each of \
            its records with the place in the log, and the amount that the record added.

            The stores keep which records added to a number for explain_days (a key of the stream's file), so the \
            answer is quick. --verify reads all records of these hours from the log and folds them again, on all \
            cores. Weir does so by itself if at most 20,000 offsets are to be read, and for numbers that the store does \
            not cover.

            Also prints the records of the same hours that do not count, and why: duplicates (of postbacks, \
            notifications and costs with the offset of the original), conflicts, overflows, untrusted postbacks and \
            test events. Records without usable fields are counted by reason.

            If records were folded again, the last line reports whether they add up to the number. If they do not, it \
            gives the cause: the log, a running worker or damage. The exit code is then 1. docs/guides/explain-a-number.md has more.

              weir explain decoded-events --where day=2026-11-20 --where campaign=5239 \\
                --measure revenue_min_micros
              weir explain funnel --where name=spring-sale --measure cpi
              weir explain outcomes --where topic=bids --measure rejected --records

            For funnel, roas and click-rates, the command explains rates by their parts, and money by currency. roas \
            needs --where through_day=0, 3, 7 or 30. For other dumps, select one currency of money: --where \
            currency=USD.
            """)

    @OptionGroup var cell: CellOptions
    @OptionGroup var conditions: ConditionOptions
    @OptionGroup var times: TimeOptions
    @OptionGroup var zone: TimeZoneOptions
    @Option(help: "Explain only this measure (default: all that are not 0).")
    var measure: String?
    @Option(
        help:
            "The maximum number of listed records, and of listed omitted records; the sum covers all."
    )
    var limit = 100
    @Flag(
        help:
            "Fold all records of these hours again, and report whether they add up to the number."
    )
    var verify = false
    @Option(
        parsing: .unconditional,
        help: "List only records from this time on; the sum covers all. Includes --verify.")
    var from: String?
    @Flag(help: "Print the records as weir read does, and everything else on standard error.")
    var records = false
    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var archive: ArchiveOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var masking: MaskOptions
    @OptionGroup var format: DumpFormatOptions
    @OptionGroup var csv: RawOptions

    func run() throws {
        let format = try format.chosen()
        guard limit >= 0 else { throw CommandError.usage("--limit \(limit): give 0 or more") }
        let figure = try figure()
        let explainer = try installation.explainer()
        // Warn before the answer: under different rules, most records cannot be decoded.
        try explainer.stores.warnOfOtherRules(of: figure.streams)
        let output = BufferedOutput()
        let from = try from.map { try LogTime.milliseconds($0, option: "--from") }
        var report = ExplainReport(
            figure.name, conditions.arguments, limit: limit, fromMilliseconds: from)
        var progress = Progress(label: "explain", isWanted: true)
        defer { progress.end() }
        let explanation = try explainer.explain(
            figure, measures: { try Explainer.measures(measure, of: $0) },
            limit: verify || from != nil ? nil : limit,
            progress: { progress.add($0, behind: $1) }
        ) { record in
            if report.add(record), records { try print(record, to: output) }
        }
        report.settle(explanation)
        progress.end()
        report.division = try division(measure)
        report.cost = try cost(measure)
        if records {
            try output.flush()
            report.notices(explanation).forEach(Console.write)
        } else {
            try report.write(explanation, as: format, isRaw: csv.isSet(), to: output)
            try output.flush()
        }
        if !explanation.missingStreams.isEmpty {
            Console.write(
                "no store of \(explanation.missingStreams.joined(separator: ", ")): their records "
                    + "are not in the numbers here")
        }
        guard !explanation.differs else {
            // The other formats have already reported it in the text.
            guard !records, format == .json || format == .ndjson else { throw CommandError.differs }
            throw CommandError.failure(
                "the records do not add up to the number: see the explanation at the end of the output"
            )
        }
    }

    private func print(_ record: ExplainedRecord, to output: BufferedOutput) throws {
        try RecordPrinter(output, format: .ndjson, mask: masking.mask(topic: record.topic))
            .print(record.folded.record)
    }
}

extension ExplainReport {
    func write(
        _ explanation: Explanation, as format: DumpFormat, isRaw: Bool = false,
        to output: BufferedOutput
    ) throws(CommandError) {
        guard format != .table else { return try writeTable(explanation, to: output) }
        try write(explanation, as: format, isRaw: isRaw, to: output.write(bytes:))
        if format == .csv { notices(explanation).forEach(Console.write) }
    }

    private func writeTable(
        _ explanation: Explanation, to output: BufferedOutput
    ) throws(CommandError) {
        let subject = ([dump] + conditions).joined(separator: " ")
        try output.write("\(subject.withoutControls)\n")
        let isInUnits = StandardStream.output.terminalColumns != nil
        for measure in explanation.measures {
            let units =
                isInUnits
                ? measure.stored.flatMap {
                    MoneyByCurrency($0, of: measure.name, currency: measure.currency)
                } : nil
            try output.write(
                "\(measure.label.withoutControls) = \(measure.stored.map { "\($0)" } ?? "unknown")"
                    + (units.map { " (\($0.plainText))" } ?? "") + "\n")
        }
        if limit > 0 {
            try output.write("\nrecords that count:\n")
            let hasReason = counted.contains { $0.reason != nil }
            try output.write(
                shown: table(
                    counted, explanation.measures, withReason: hasReason, isInUnits: isInUnits))
        }
        if !leftOut.isEmpty {
            try output.write("\nleft out:\n")
            try output.write(shown: table(leftOut, [], withReason: true))
        }
        try output.write("\n")
        for notice in notices(explanation) { try output.write("\(notice.withoutControls)\n") }
    }
}

struct EvidenceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evidence",
        abstract: "Writes the evidence of a number into one file, and verifies such a file.",
        discussion: """
            The file is a tar archive. It contains the stored rows, the raw records of these rows, the omitted \
            records, the used entries of the dedupe memory, the configurations, model versions and public keys, \
            and a manifest with the SHA-256 of each part. weir evidence verify checks the file on any machine, \
            without log, stores or configuration.

            Evidence proves that its records give the number for the rows in its manifest. It does not prove \
            that the log had no other records, and it does not prove offsets or times within the hour. The \
            SHA-256 of the manifest identifies the file: give it to the recipient separately. \
            docs/guides/explain-a-number.md has more.

              weir evidence decoded-events --where campaign=5239 --where day=2026-11-20 --out march.tar
              weir evidence verify march.tar
            """,
        subcommands: [EvidenceWriteCommand.self, EvidenceVerifyCommand.self],
        defaultSubcommand: EvidenceWriteCommand.self)
}

struct EvidenceWriteCommand: CellCommand {
    static let configuration = CommandConfiguration(
        commandName: "write",
        abstract: "Writes the evidence of a number into one file.",
        discussion: """
            Selects rows like weir explain. Passwords and receipts of store notifications are masked, and shared \
            secrets are never included.
            """)

    @OptionGroup var cell: CellOptions
    @OptionGroup var conditions: ConditionOptions
    @OptionGroup var times: TimeOptions
    @OptionGroup var zone: TimeZoneOptions
    @Option(help: "Prove only this measure (default: all that are not 0).")
    var measure: String?
    @Option(help: "The file to write; it must not exist.")
    var out: String
    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var archive: ArchiveOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var access: FileAccessOptions

    func run() throws {
        let figure = try provableFigure()
        let explanation = try installation.explainer().writeEvidence(
            of: figure, measure: measure, to: out,
            measures: { try Explainer.measures(measure, of: $0) }
        ) { record in
            SecretMask(topic: record.topic).masked(record.folded.record)
        }
        let lines =
            [
                "\(out): \(counted(explanation.counted, "record")) that count\(explanation.counted == 1 ? "s" : ""), \(explanation.leftOut) left out"
            ]
            + explanation.summary.map(\.withoutControls)
        try BufferedOutput.print(lines.map { $0 + "\n" }.joined())
        guard explanation.addsUp else {
            throw CommandError.failure(
                "the records do not add up to the number, so \(out) does not prove it: see weir explain"
            )
        }
    }
}

struct EvidenceVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract:
            "Verifies a file of weir evidence: exit code 0 if all checks hold, otherwise 1.",
        discussion: """
            The command needs only the file. It checks the SHA-256 of each part, verifies every signature, folds \
            the records under the recorded configurations, and compares rows and number. It names every changed \
            part. It cannot detect rows that were removed together with their records: compare the manifest's \
            SHA-256 with the one that you received separately.
            """)

    @Argument(help: "The file that weir evidence wrote.")
    var file: String
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        var verifier = try EvidenceVerifier(path: file)
        let checks = try verifier.verify()
        try BufferedOutput.print(EvidenceReport(verifier: verifier, checks: checks), as: format)
        let failed = checks.filter { !$0.holds }.map(\.name).reduce(into: [String]()) {
            if $0.last != $1 { $0.append($1) }
        }
        guard failed.isEmpty else {
            throw CommandError.failure(
                "\(file) fails these checks: \(failed.joined(separator: ", ")). It does not prove the number"
            )
        }
    }

}

private struct EvidenceReport: Report {
    let verifier: EvidenceVerifier
    let checks: [EvidenceVerifier.Check]

    var table: String {
        checks.reduce(
            "\(verifier.claim.withoutControls)\nmanifest sha256:\(verifier.manifestDigest)\n\n"
        ) { text, check in
            let word = check.holds ? "holds" : "DOES NOT HOLD"
            return text + "\(check.name): \(word): \(check.explanation.withoutControls)\n"
        }
    }

    func write(to json: inout JSONText) {
        json.object { json in
            json.member("claim", verifier.claim)
            json.member("manifest_sha256", verifier.manifestDigest)
            json.member("holds", checks.allSatisfy(\.holds))
            json.objects("checks", checks) { check, json in
                json.member("name", check.name)
                json.member("holds", check.holds)
                json.member("words", check.explanation)
            }
        }
    }
}
