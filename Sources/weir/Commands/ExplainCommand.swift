import ArgumentParser
import Engine
import EventLog
import History
import JSON
import Program
import Reports
import Streams
import Wording

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Shows the records behind a number, and adds them up.",
        discussion: """
            Takes the rows of a dump, funnel included, that --where, --since and --until select; prints \
            what the stores say, each record behind it with its place in the log and what it added, and \
            what was left out in the same hours and why: duplicates (of postbacks, notifications and costs with \
            the offset of the original), conflicts, overflows, postbacks that nobody trusts, test events. \
            Records that do not say what they are about are counted by reason. The last line says whether \
            the records add up to the number and, where they do not, whether the log or a worker that runs \
            is the cause, or damage: the exit code is 1 then. docs/guides/explain-a-number.md has more.

              weir explain decoded-events --where day=2026-11-20 --where campaign=5239 \\
                --measure revenue_min_micros
              weir explain funnel --where name=spring-sale --measure cpi
              weir explain outcomes --where topic=bids --measure rejected --records

            Of funnel, roas and click-rates, rates are explained by what they are worked out of, and money by \
            currency; roas needs --where through_day=0, 3, 7 or 30. Of other dumps, money of several currencies \
            is refused: --where currency=USD.
            """)

    @OptionGroup var selection: CellOptions
    @Option(help: "Only this measure (default: all that are not 0).")
    var measure: String?
    @Option(help: "List at most so many records, and as many left out; the sum covers all.")
    var limit = 1000
    @Option(
        parsing: .unconditional,
        help: "List only records of this time or later, and what they add; the sum covers all.")
    var from: String?
    @Flag(help: "Print the records themselves, as weir read does, and the rest to standard error.")
    var records = false
    @OptionGroup var source: SourceOptions
    @OptionGroup var masking: MaskOptions
    @OptionGroup var format: DumpFormatOptions
    @OptionGroup var csv: RawOptions

    func run() throws {
        let format = try format.chosen()
        guard limit >= 0 else { throw CommandError.usage("--limit \(limit): give 0 or more") }
        let figure = try selection.figure(source.pipelines.configuration)
        let explainer = try source.installation.explainer()
        // Warn before the answer: under different rules, most records cannot be decoded.
        try explainer.stores.warnOfOtherRules(of: figure.streams)
        let output = BufferedOutput()
        let from = try from.map { try LogTime.milliseconds($0, option: "--from") }
        var report = ExplainReport(
            figure.name, selection.conditions, limit: limit, fromMilliseconds: from)
        var progress = Progress(label: "explain", isWanted: true)
        defer { progress.end() }
        let explanation = try explainer.explain(
            figure, measures: { try Explainer.measures(measure, of: $0) },
            progress: { progress.add($0, behind: $1) }
        ) { record in
            if report.add(record), records { try print(record, to: output) }
        }
        progress.end()
        report.division = try selection.division(measure, source)
        report.cost = try selection.cost(measure, source)
        if records {
            try output.flush()
            report.notices(explanation).forEach(Console.write)
        } else {
            try report.write(explanation, as: format, isRaw: csv.isSet(), to: output)
            try output.flush()
        }
        if !explanation.missingStreams.isEmpty {
            Console.write(
                "no store of \(explanation.missingStreams.joined(separator: ", ")): what comes of them "
                    + "is not known, and in no number here")
        }
        guard explanation.addsUp else {
            // The other formats have already reported it in the text.
            guard !records, format == .json || format == .ndjson else { throw CommandError.differs }
            throw CommandError.failure(
                "the records do not add up to the number: see explanation, at the end of the output"
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
        let place = ([dump] + conditions).joined(separator: " ")
        try output.write("\(place.withoutControls)\n")
        let isInUnits = StandardStream.output.terminalColumns != nil
        for measure in explanation.measures {
            let units =
                isInUnits
                ? MoneyByCurrency(measure.stored, of: measure.name, currency: measure.currency)
                : nil
            try output.write(
                "\(measure.name.withoutControls) = \(measure.stored)"
                    + (units.map { " (\($0.plainText))" } ?? "") + "\n")
        }
        try output.write("\nrecords that add to it:\n")
        let hasReason = counted.contains { $0.reason != nil }
        try output.write(
            shown: table(
                counted, explanation.measures, withReason: hasReason, isInUnits: isInUnits))
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
        abstract: "Writes what a number rests on into one file, and checks such a file.",
        discussion: """
            The file is a tar archive: the stored rows, the raw records behind them and those left out, \
            what memory had answered, the configurations, model versions and public keys, and a manifest \
            with the SHA-256 of each. weir evidence verify checks it on any machine, without log, stores \
            or configuration.

            It proves that its records make the number of the rows that its manifest asks for. It does not \
            prove that the log had no others, nor offsets and times within the hour. Which file it is, the \
            manifest's SHA-256 says: hand that over apart from the file. docs/guides/explain-a-number.md has more.

              weir evidence decoded-events --where campaign=5239 --where day=2026-11-20 --out march.tar
              weir evidence verify march.tar
            """,
        subcommands: [EvidenceWriteCommand.self, EvidenceVerifyCommand.self],
        defaultSubcommand: EvidenceWriteCommand.self)
}

struct EvidenceWriteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "write",
        abstract: "Writes what a number rests on into one file.",
        discussion: """
            Takes the rows that weir explain takes. Passwords and receipts of store notifications are \
            masked, and shared secrets never leave.
            """)

    @OptionGroup var selection: CellOptions
    @Option(help: "Only this measure (default: all that are not 0).")
    var measure: String?
    @Option(help: "The file to write; none may be there.")
    var out: String
    @OptionGroup var source: SourceOptions
    @OptionGroup var access: FileAccessOptions

    func run() throws {
        let figure = try selection.provableFigure(source.pipelines.configuration)
        let explanation = try source.installation.explainer().writeEvidence(
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
                "the records do not add up to the number, and so neither does \(out): see weir explain"
            )
        }
    }
}

struct EvidenceVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract:
            "Checks a file that weir evidence wrote: exit code 0 when all of it holds, else 1.",
        discussion: """
            Needs nothing but the file: checks the SHA-256 of each part, verifies every signature, folds \
            the records under the recorded configurations and compares rows and number. What was changed \
            is named. That nothing was left away together with its rows it cannot tell: compare the \
            manifest's SHA-256 with the one that was handed over apart.
            """)

    @Argument(help: "The file.")
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
                "\(file) does not hold: \(failed.joined(separator: ", ")); the number is not shown by it"
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
