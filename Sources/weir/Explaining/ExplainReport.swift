import Explanation
import Inspection
import Streams

/// The records behind a number, for people and programs.
struct ExplainReport {
    /// A record that is listed.
    struct Entry {
        var topic: String
        var partition: Int32
        var offset: Int64
        var timestampMilliseconds: Int64
        var type: String
        /// Why it is left out or refused; nil for others.
        var reason: String?
        var amounts: CellAmounts
    }

    private let dump: String
    private let conditions: [String]
    private let limit: Int
    private(set) var counted: [Entry] = []
    private(set) var leftOut: [Entry] = []

    init(_ dump: String, _ conditions: [String], limit: Int) {
        self.dump = dump
        self.conditions = conditions
        self.limit = limit
    }

    /// Takes a record; says whether it is listed.
    mutating func add(_ record: ExplainedRecord) -> Bool {
        var entry = Entry(
            topic: record.topic, partition: record.folded.record.partition,
            offset: record.folded.record.offset,
            timestampMilliseconds: record.folded.record.timestampMilliseconds,
            type: record.folded.type, amounts: record.amounts)
        switch record.role {
        case .counted:
            guard counted.count < limit else { return false }
            entry.reason = record.folded.refusal.map { "\($0.reason): \($0.detail)" }
            counted.append(entry)
        case .leftOut(let reason):
            guard leftOut.count < limit else { return false }
            entry.reason = reason
            leftOut.append(entry)
        case .untold: return false
        }
        return true
    }

    /// Lines for people beside the lists.
    func notices(_ explanation: Explanation) -> [String] {
        var notices: [String] = []
        func note(_ shown: Int, _ all: Int64, _ words: String) {
            guard all > shown else { return }
            notices.append("\(all - Int64(shown)) more records \(words): give --limit")
        }
        note(counted.count, explanation.counted, "count")
        note(leftOut.count, explanation.leftOut, "were left out")
        for untold in explanation.untold {
            notices.append(
                "left out of \(untold.topic) in these hours, whatever they are about: \(untold.records) "
                    + untold.reason)
        }
        return notices + explanation.words
    }

    /// Writes all of it.
    func write(
        _ explanation: Explanation, as format: DumpFormat, isRaw: Bool = false,
        to output: BufferedOutput
    ) throws(CommandError) {
        switch format {
        case .table: try writeTable(explanation, to: output)
        case .json: try output.write(json(explanation) + "\n")
        case .ndjson: for line in lines(explanation) { try output.write(line + "\n") }
        case .csv:
            try table(counted + leftOut, explanation.measures, withReason: true)
                .write(as: .csv, isRaw: isRaw) { (piece) throws(CommandError) in
                    try output.write(piece)
                }
            notices(explanation).forEach(Notice.write)
        }
    }

    private func writeTable(
        _ explanation: Explanation, to output: BufferedOutput
    ) throws(CommandError) {
        func write(_ table: ReportTable) throws(CommandError) {
            try table.write(as: .table) { (piece) throws(CommandError) in try output.write(piece) }
        }
        let place = ([dump] + conditions).joined(separator: " ")
        try output.write("\(place.withoutControls)\n")
        for measure in explanation.measures {
            try output.write("\(measure.name.withoutControls) = \(measure.stored)\n")
        }
        try output.write("\nrecords that add to it:\n")
        try write(
            table(
                counted, explanation.measures,
                withReason: counted.contains { $0.reason != nil }))
        if !leftOut.isEmpty {
            try output.write("\nleft out:\n")
            try write(table(leftOut, [], withReason: true))
        }
        try output.write("\n")
        for notice in notices(explanation) { try output.write("\(notice.withoutControls)\n") }
    }

    private func table(
        _ entries: [Entry], _ measures: [Explanation.Measure], withReason: Bool
    ) -> ReportTable {
        let columns =
            ["topic", "partition", "offset", "time", "type"].map {
                ReportTable.Column($0, isNumber: $0 == "partition" || $0 == "offset")
            } + measures.map { ReportTable.Column($0.name, isNumber: true) }
            + (withReason ? [ReportTable.Column("why")] : [])
        return ReportTable(
            columns: columns,
            rows: entries.map { entry in
                let head: [ReportValue] = [
                    .text(entry.topic), .integer(Int128(entry.partition)),
                    .integer(Int128(entry.offset)),
                    .text(UTC.text(milliseconds: entry.timestampMilliseconds)), .text(entry.type),
                ]
                let amounts = measures.map { measure in
                    ReportValue.integer(entry.amounts[measure.place])
                }
                let reason = entry.reason.map { ReportValue.text($0) } ?? .null
                return head + amounts + (withReason ? [reason] : [])
            })
    }
}

// MARK: JSON

extension ExplainReport {
    private func json(_ explanation: Explanation) -> String {
        var text = JSONText()
        text.object { text in
            writeNumber(explanation, to: &text)
            text.name("records")
            text.array { text in
                for entry in counted { text.object { write(entry, explanation, to: &$0) } }
            }
            text.name("left_out")
            text.array { text in
                for entry in leftOut { text.object { write(entry, to: &$0) } }
            }
            writeSummary(explanation, to: &text)
        }
        return text.text.withoutControlsInJSON
    }

    /// The number, each record, and at the end whether it adds up.
    private func lines(_ explanation: Explanation) -> [String] {
        func line(_ part: String, _ body: (inout JSONText) -> Void) -> String {
            var text = JSONText()
            text.object { text in
                text.name("part")
                text.string(part)
                body(&text)
            }
            return text.text.withoutControlsInJSON
        }
        return [line("number") { writeNumber(explanation, to: &$0) }]
            + counted.map { entry in line("record") { write(entry, explanation, to: &$0) } }
            + leftOut.map { entry in line("left_out") { write(entry, to: &$0) } }
            + [line("sum") { writeSummary(explanation, to: &$0) }]
    }

    private func writeNumber(_ explanation: Explanation, to text: inout JSONText) {
        text.name("dump")
        text.string(dump)
        text.name("where")
        text.array { text in for condition in conditions { text.string(condition) } }
        text.name("number")
        text.object { text in
            for measure in explanation.measures {
                text.name(measure.name)
                text.raw(measure.stored)
            }
        }
    }

    private func write(
        _ entry: Entry, _ explanation: Explanation, to text: inout JSONText
    ) {
        write(entry, to: &text)
        text.name("adds")
        text.object { text in
            for measure in explanation.measures where entry.amounts[measure.place] != 0 {
                text.name(measure.name)
                text.raw(entry.amounts[measure.place])
            }
        }
    }

    private func write(_ entry: Entry, to text: inout JSONText) {
        text.name("topic")
        text.string(entry.topic)
        text.name("partition")
        text.raw(entry.partition)
        text.name("offset")
        text.raw(entry.offset)
        text.name("timestamp_ms")
        text.raw(entry.timestampMilliseconds)
        text.name("type")
        text.string(entry.type)
        if let reason = entry.reason {
            text.name("why")
            text.string(reason)
        }
    }

    private func writeSummary(_ explanation: Explanation, to text: inout JSONText) {
        text.name("untold")
        text.array { text in
            for untold in explanation.untold {
                text.object { text in
                    text.name("topic")
                    text.string(untold.topic)
                    text.name("why")
                    text.string(untold.reason)
                    text.name("records")
                    text.raw(untold.records)
                }
            }
        }
        text.name("counted")
        text.raw(explanation.counted)
        text.name("left_out_count")
        text.raw(explanation.leftOut)
        text.name("adds_up")
        text.raw(explanation.addsUp)
        text.name("words")
        text.array { text in for words in explanation.words { text.string(words) } }
    }
}
