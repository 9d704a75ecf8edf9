import ArgumentParser
import EventLog
import Explanation
import Inspection
import Worker

/// `weir explain`
struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Shows the records behind a number, and adds them up.",
        discussion: """
            Takes the rows of a dump, funnel included, that --where, --since and --until select; prints \
            what the stores say, each record behind it with its place in the log and what it added, and \
            what was left out in the same hours and why: duplicates (of postbacks and notifications with \
            the offset of the original), conflicts, overflows, postbacks that nobody trusts, test events. \
            Records that do not say what they are about are counted by reason. The last line says whether \
            the records add up to the number and, where they do not, whether the log or a worker that runs \
            is the cause, or damage: the exit code is 1 then. docs/explain.md has more.

              weir explain decoded-events --where day=2026-11-20 --where campaign=5239 \\
                --measure revenue_min_micros
              weir explain funnel --where name=spring-sale --measure cpi
              weir explain outcomes --where topic=bids --measure rejected --records

            Of the funnel, rates are explained by what they are worked out of, and money by currency. Of other \
            dumps, money of several currencies is refused: --where currency=USD.
            """)

    @OptionGroup var selection: CellOptions
    @Option(help: "Only this measure (default: all that are not 0).")
    var measure: String?
    @Option(help: "List at most so many records, and as many left out; the sum covers all.")
    var limit = 1000
    @Flag(help: "Print the records themselves, as weir read does, and the rest to standard error.")
    var records = false
    @OptionGroup var source: SourceOptions
    @OptionGroup var masking: MaskOptions
    @Option(help: "table, json, ndjson or csv (WEIR_FORMAT; default: table).")
    var format: String?
    @OptionGroup var csv: RawOptions

    func run() throws {
        let format = try Environment().format(format, default: DumpFormat.table)
        guard limit >= 0 else { throw CommandError.usage("--limit \(limit): give 0 or more") }
        let cell = try selection.cell(source.pipelines)
        let explainer = try source.explainer()
        let output = BufferedOutput()
        var report = ExplainReport(cell.name, selection.conditions, limit: limit)
        var progress = Progress(label: "explain", isWanted: true)
        defer { progress.end() }
        let explanation = try explainer.explain(
            cell, measures: { try CellOptions.measures(measure, of: $0) },
            progress: { progress.add($0, behind: $1) }
        ) { record in
            if report.add(record), records { try print(record, to: output) }
        }
        progress.end()
        if records {
            try output.flush()
            report.notices(explanation).forEach(Notice.write)
        } else {
            try report.write(explanation, as: format, isRaw: csv.isSet(), to: output)
            try output.flush()
        }
        if !explanation.missingStreams.isEmpty {
            Notice.write(
                "no store of \(explanation.missingStreams.joined(separator: ", ")): what comes of them "
                    + "is not known, and in no number here")
        }
        // What was found was said.
        guard explanation.addsUp else { throw CommandError.differs }
    }

    private func print(_ record: ExplainedRecord, to output: BufferedOutput) throws {
        try RecordPrinter(output, format: .ndjson, mask: masking.mask(topic: record.topic))
            .print(record.folded.record)
    }
}
