import JSON
import Reports
import Streams
import Wording

/// The records of a number, for a list.
package struct ExplainReport {
    package struct Entry {
        package var topic: String
        package var partition: Int32
        package var offset: Int64
        package var timestampMilliseconds: Int64
        package var type: String
        /// The reason why it is left out or refused, or the record that it replaces; nil for others.
        package var reason: String?
        package var amounts: FigureAmounts
    }

    package let dump: String
    package let conditions: [String]
    package let limit: Int
    /// Records before this time are included in sums, but not listed.
    private let fromMilliseconds: Int64?
    package private(set) var counted: [Entry] = []
    package private(set) var leftOut: [Entry] = []
    /// The number of records to list.
    package private(set) var countedCount: Int64 = 0
    package private(set) var leftOutCount: Int64 = 0
    /// The sums over counted records.
    package private(set) var listed = FigureAmounts()
    /// Whether to omit data that may belong to others: counts of records, and explanations of refusals, which quote the
    /// other copy.
    package var hidesUntold = false
    /// The parts of a rate; nil for a sum.
    package var division: FunnelDivision?
    /// The counted parts of a cost; nil for other numbers.
    package var cost: String?

    package init(
        _ dump: String, _ conditions: [String], limit: Int, fromMilliseconds: Int64? = nil
    ) {
        self.dump = dump
        self.conditions = conditions
        self.limit = limit
        self.fromMilliseconds = fromMilliseconds
    }

    /// Adds a record; returns whether it is listed.
    package mutating func add(_ record: ExplainedRecord) -> Bool {
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
                ?? record.folded.replacedOffset.map { "replaces offset \($0)" }
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

    /// Takes the numbers of records from the index of the stores, which has more records than were added.
    package mutating func settle(_ explanation: Explanation) {
        guard !explanation.isVerified else { return }
        countedCount = explanation.counted
        leftOutCount = explanation.leftOut
    }

    package func notices(_ explanation: Explanation) -> [String] {
        var notices: [String] = []
        func add(_ shown: Int, _ all: Int64, one: String, several: String) {
            guard all > shown else { return }
            let rest = all - Int64(shown)
            notices.append("\(rest) more \(rest == 1 ? one : several): give a larger --limit")
        }
        add(counted.count, countedCount, one: "record counts", several: "records count")
        add(
            leftOut.count, leftOutCount, one: "record was left out",
            several: "records were left out")
        for untold in hidesUntold ? [] : explanation.untold {
            notices.append(
                "left out of \(untold.topic) in these hours, whatever they belong to: \(untold.records) "
                    + untold.reason)
        }
        if explanation.unexamined > 0, !hidesUntold {
            notices.append(
                "\(Wording.counted(explanation.unexamined, "more record")) of these hours "
                    + (explanation.unexamined == 1 ? "was" : "were")
                    + " not accepted, whatever they belong to: --verify looks whether they belong here"
            )
        }
        notices += erasures(explanation) + additions(explanation)
        return notices + [division?.text].compactMap(\.self) + (division?.notes ?? [])
            + [cost].compactMap(\.self) + explanation.summary
            + (explanation.isVerified
                ? [] : ["--verify folds all records of these hours again and adds them up"])
    }

    /// How many erased records an answer names.
    private static let erasedNamed = 5

    /// The erased records among those that were read: their positions, and what is left of them.
    private func erasures(_ explanation: Explanation) -> [String] {
        let erased = explanation.erased
        guard !erased.isEmpty, !hidesUntold else { return [] }
        let more = erased.count - Self.erasedNamed
        return [
            "\(Wording.counted(Int64(erased.count), "record")) \(erased.count == 1 ? "was" : "were") erased after counting:"
        ]
            + erased.prefix(Self.erasedNamed).map {
                "  \($0.topic)/\($0.partition)/\($0.offset): \($0.record.explanation)"
            } + (more > 0 ? ["  and \(more) more"] : [])
    }

    /// The sums over the records since the requested time, a line for each measure; empty without such a time.
    package func additions(_ explanation: Explanation) -> [String] {
        guard let fromMilliseconds else { return [] }
        let time = UTC.text(milliseconds: fromMilliseconds)
        return explanation.measures.map { measure in
            "since \(time): \(listed[measure.index]) of \(measure.label)"
        }
    }

    /// Writes the records for programs.
    package func write<Failure: Error>(
        _ explanation: Explanation, as format: DumpFormat, isRaw: Bool = false,
        to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        switch format {
        case .json: try sink(Array((json(explanation) + "\n").utf8))
        case .ndjson: for line in lines(explanation) { try sink(Array((line + "\n").utf8)) }
        case .csv, .table:
            // A file with the currency of each amount needs to know which values are amounts.
            try table(
                counted + leftOut, explanation.measures, withReason: true,
                isInUnits: format == .csv
            )
            .write(as: format, isRaw: isRaw, to: sink)
        }
    }

    package func table(
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
                let amount = entry.amounts[measure.index]
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
            writeFigure(explanation, to: &json)
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
        return [line("number") { writeFigure(explanation, to: &$0) }]
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

    private func writeFigure(_ explanation: Explanation, to json: inout JSONText) {
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
            json.raw(division.reasonUnknown == nil ? division.valueInJSON : "null")
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
            for measure in explanation.measures where entry.amounts[measure.index] != 0 {
                json.member(measure.name, entry.amounts[measure.index])
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
        json.objects("erased", hidesUntold ? [] : explanation.erased) { erased, json in
            json.member("topic", erased.topic)
            json.member("partition", erased.partition)
            json.member("offset", erased.offset)
            json.member("timestamp_ms", erased.timestampMilliseconds)
            json.member("sha256", erased.record.valueSHA256)
            json.member("bytes", erased.record.valueBytes)
        }
        json.member("counted", countedCount)
        json.member("left_out_count", leftOutCount)
        json.member("verified", explanation.isVerified)
        if explanation.isVerified {
            if explanation.addsUp || explanation.differs {
                json.member("adds_up", explanation.addsUp)
            } else {
                // What erased records added is not known.
                json.name("adds_up")
                json.raw("null")
            }
        } else {
            json.member("not_examined", explanation.unexamined)
        }
        json.member("words", explanation.summary)
    }
}
