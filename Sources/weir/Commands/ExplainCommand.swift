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
        let number = try selection.number(source.pipelines)
        let explainer = try source.explainer()
        // Earlier than the answer: where the rules differ, records are mostly not understood.
        try explainer.stores.warnOfOtherRules(of: number.streams)
        let output = BufferedOutput()
        let from = try from.map { try LogTime.milliseconds($0, option: "--from") }
        var report = ExplainReport(
            number.name, selection.conditions, limit: limit, fromMilliseconds: from)
        var progress = Progress(label: "explain", isWanted: true)
        defer { progress.end() }
        let explanation = try explainer.explain(
            number, measures: { try CellOptions.measures(measure, of: $0) },
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
            // Other forms have said it to people already.
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

struct ExplainReport {
    struct Entry {
        var topic: String
        var partition: Int32
        var offset: Int64
        var timestampMilliseconds: Int64
        var type: String
        /// Why it is left out or refused, or what it takes the place of; nil for others.
        var reason: String?
        var amounts: NumberAmounts
    }

    private let dump: String
    private let conditions: [String]
    private let limit: Int
    /// Records of before this time are in the sums and in no list.
    private let fromMilliseconds: Int64?
    private(set) var counted: [Entry] = []
    private(set) var leftOut: [Entry] = []
    /// How many records there are to list.
    private(set) var countedCount: Int64 = 0
    private(set) var leftOutCount: Int64 = 0
    /// What those that count add.
    private(set) var listed = NumberAmounts()
    /// Whether what may be of others is left out: counts of records, and the words of refusals, which quote the
    /// other copy.
    var hidesUntold = false
    /// What a rate divides; nil where a sum is explained.
    var division: FunnelDivision?
    /// Which parts of a cost count; nil for what is no cost.
    var cost: String?

    init(
        _ dump: String, _ conditions: [String], limit: Int, fromMilliseconds: Int64? = nil
    ) {
        self.dump = dump
        self.conditions = conditions
        self.limit = limit
        self.fromMilliseconds = fromMilliseconds
    }

    /// Adds a record; true when it is listed.
    mutating func add(_ record: ExplainedRecord) -> Bool {
        if let fromMilliseconds,
            record.folded.record.timestampMilliseconds < fromMilliseconds
        {
            return false
        }
        var entry = Entry(
            topic: record.topic, partition: record.folded.record.partition,
            offset: record.folded.record.offset,
            timestampMilliseconds: record.folded.record.timestampMilliseconds,
            type: record.folded.type, amounts: record.amounts)
        switch record.role {
        case .counted:
            countedCount += 1
            listed.add(record.amounts)
            guard counted.count < limit else { return false }
            entry.reason =
                record.folded.refusal.map { hidesUntold ? $0.reason : "\($0.reason): \($0.detail)" }
                ?? record.folded.replacedOffset.map { "in place of offset \($0)" }
            counted.append(entry)
        case .leftOut(let reason):
            leftOutCount += 1
            guard leftOut.count < limit else { return false }
            entry.reason = reason
            leftOut.append(entry)
        case .untold: return false
        }
        return true
    }

    func notices(_ explanation: Explanation) -> [String] {
        var notices: [String] = []
        func note(_ shown: Int, _ all: Int64, one: String, several: String) {
            guard all > shown else { return }
            let rest = all - Int64(shown)
            notices.append("\(rest) more \(rest == 1 ? one : several): give --limit")
        }
        note(counted.count, countedCount, one: "record counts", several: "records count")
        note(
            leftOut.count, leftOutCount, one: "record was left out",
            several: "records were left out")
        for untold in hidesUntold ? [] : explanation.untold {
            notices.append(
                "left out of \(untold.topic) in these hours, whatever they are about: \(untold.records) "
                    + untold.reason)
        }
        notices += additions(explanation)
        return notices + [division?.text, division?.noteOnInstalls, cost].compactMap(\.self)
            + explanation.summary
    }

    /// What the records since the asked time add, a line for each measure; nothing where none was asked for.
    func additions(_ explanation: Explanation) -> [String] {
        guard let fromMilliseconds else { return [] }
        let time = UTC.text(milliseconds: fromMilliseconds)
        return explanation.measures.map { measure in
            "since \(time): \(listed[measure.place]) of \(measure.name)"
        }
    }

    func write(
        _ explanation: Explanation, as format: DumpFormat, isRaw: Bool = false,
        to output: BufferedOutput
    ) throws(CommandError) {
        guard format != .table else { return try writeTable(explanation, to: output) }
        try write(explanation, as: format, isRaw: isRaw, to: output.write(bytes:))
        if format == .csv { notices(explanation).forEach(Console.write) }
    }

    /// Writes the records for programs.
    func write<Failure: Error>(
        _ explanation: Explanation, as format: DumpFormat, isRaw: Bool = false,
        to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        switch format {
        case .json: try sink(Array((json(explanation) + "\n").utf8))
        case .ndjson: for line in lines(explanation) { try sink(Array((line + "\n").utf8)) }
        case .csv, .table:
            try table(counted + leftOut, explanation.measures, withReason: true)
                .write(as: format, isRaw: isRaw, to: sink)
        }
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

    private func table(
        _ entries: [Entry], _ measures: [Explanation.Measure], withReason: Bool,
        isInUnits: Bool = false
    ) -> ReportTable {
        var columns: [ReportColumn<Entry>] = [
            .text("topic") { $0.topic }, .number("partition") { $0.partition },
            .number("offset") { $0.offset },
            .text("time") { UTC.text(milliseconds: $0.timestampMilliseconds) },
            .text("type") { $0.type },
        ]
        columns += measures.map { measure in
            ReportColumn(name: measure.name, isNumber: true) { entry in
                let amount = entry.amounts[measure.place]
                guard isInUnits,
                    let money = MoneyByCurrency(
                        amount, of: measure.name, currency: measure.currency)
                else { return .integer(amount) }
                return .money(money)
            }
        }
        if withReason { columns.append(.text("why") { $0.reason }) }
        return ReportTable(entries, columns, keyCount: 5)
    }
}

extension ExplainReport {
    private func json(_ explanation: Explanation) -> String {
        Self.object { json in
            writeNumber(explanation, to: &json)
            json.objects("records", counted) { writeMembers(of: $0, explanation, to: &$1) }
            json.objects("left_out", leftOut, writeMembers)
            writeSummary(explanation, to: &json)
        }
    }

    /// The number, each record, and last whether it adds up.
    private func lines(_ explanation: Explanation) -> [String] {
        func line(_ part: String, _ body: (inout JSONText) -> Void) -> String {
            Self.object { json in
                json.member("part", part)
                body(&json)
            }
        }
        return [line("number") { writeNumber(explanation, to: &$0) }]
            + counted.map { entry in
                line("record") { writeMembers(of: entry, explanation, to: &$0) }
            }
            + leftOut.map { entry in line("left_out") { writeMembers(of: entry, to: &$0) } }
            + [line("sum") { writeSummary(explanation, to: &$0) }]
    }

    private static func object(_ body: (inout JSONText) -> Void) -> String {
        var json = JSONText()
        json.object(body)
        return json.text.withoutControlsInJSON
    }

    private func writeNumber(_ explanation: Explanation, to json: inout JSONText) {
        json.member("dump", dump)
        json.member("where", conditions)
        if let fromMilliseconds {
            json.member("from", UTC.text(milliseconds: fromMilliseconds))
        }
        json.object("number") { json in
            for measure in explanation.measures { json.member(measure.name, measure.stored) }
        }
        if let cost { json.member("cost", cost) }
        guard let division else { return }
        json.object("rate") { json in
            json.member("measure", division.measure)
            json.member("formula", division.formula)
            json.name("value")
            json.raw(division.reasonUnknown == nil ? division.value.plainText : "null")
            json.member("words", division.text)
            if division.installsWithoutCost > 0 {
                json.member("installs_without_cost", division.installsWithoutCost)
            }
        }
    }

    private func writeMembers(
        of entry: Entry, _ explanation: Explanation, to json: inout JSONText
    ) {
        writeMembers(of: entry, to: &json)
        json.object("adds") { json in
            for measure in explanation.measures where entry.amounts[measure.place] != 0 {
                json.member(measure.name, entry.amounts[measure.place])
            }
        }
    }

    private func writeMembers(of entry: Entry, to json: inout JSONText) {
        json.member("topic", entry.topic)
        json.member("partition", entry.partition)
        json.member("offset", entry.offset)
        json.member("timestamp_ms", entry.timestampMilliseconds)
        json.member("type", entry.type)
        if let reason = entry.reason { json.member("why", reason) }
    }

    private func writeSummary(_ explanation: Explanation, to json: inout JSONText) {
        json.objects("untold", hidesUntold ? [] : explanation.untold) { untold, json in
            json.member("topic", untold.topic)
            json.member("why", untold.reason)
            json.member("records", untold.records)
        }
        json.member("counted", countedCount)
        json.member("left_out_count", leftOutCount)
        json.member("adds_up", explanation.addsUp)
        json.member("words", explanation.summary)
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
        let number = try selection.provableNumber(source.pipelines)
        let explanation = try source.explainer().writeEvidence(
            of: number, measure: measure, to: out,
            measures: { try CellOptions.measures(measure, of: $0) }
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
