import Engine
import EventLog
import Foundation
import History
import Program
import Reports
import Signatures
import Streams
import Wording

// Pages about single records: rejected ones, the last ones of each topic, and one record in full.

extension PageWriter {
    /// Rejected records of one kind: counts by reason, then the newest.
    mutating func writeRefusals(_ kind: String, limit: Int = 50) throws {
        try table(ReportAddress(kind, by: ["topic", "type", "reason"]), sort: "records")
        // These columns identify each rejected record.
        let list = ReportAddress(
            kind, by: ["topic", "partition", "offset", "timestamp", "type", "reason", "detail"])
        let answer = try answer(list, keeping: RowBound(limit, largest: "timestamp"))
        let newest = answer.rows
        guard !newest.isEmpty else { return }
        let columns = ["record", "time", "type", "reason", "detail"].map { ReportTable.Column($0) }
        let positions = newest.map { row in
            TopicPosition(
                topic: answer.value(row, "topic").plainText,
                partition: Int32(answer.value(row, "partition").plainText) ?? 0,
                offset: Int64(answer.value(row, "offset").plainText) ?? 0)
        }
        let rows: [[ReportValue]] = zip(positions, newest).map { position, row in
            let reason = answer.value(row, "reason")
            let type = ShownValue.type(
                answer.value(row, "type").plainText, of: position.topic,
                refusedFor: reason.plainText)
            return [
                .text("\(position)"), .text(Self.time(answer.value(row, "timestamp"))),
                .text(type), reason, answer.value(row, "detail"),
            ]
        }
        write { html in
            ReportView.write(
                ReportTable(columns: columns, rows: rows), to: &html,
                link: { row, column in column == 0 ? Self.address(of: positions[row]) : nil })
        }
        if answer.moreRows > 0 {
            let all = Int128(newest.count + answer.moreRows)
            paragraph(
                "The newest \(limit) of \(ShownValue.grouped(all)) are shown. The files have all of them.",
                class: "note")
        }
        files(of: answer)
    }

    private static func time(_ value: ReportValue) -> String {
        Int64(value.plainText).map { UTC.text(milliseconds: $0) } ?? ""
    }

    static func address(of position: TopicPosition) -> PageAddress {
        PageAddress(
            "/record",
            [
                ("topic", position.topic), ("partition", "\(position.partition)"),
                ("offset", "\(position.offset)"),
            ])
    }

    // MARK: The last records

    private static let lastRecords: Int64 = 15

    /// How often the page is reloaded, with a link that pauses or resumes it.
    private mutating func writeReload() {
        let (seconds, context) = (context.reloadSeconds, context)
        write { html in
            html.element("p", ["data-reload": seconds.map(String.init)]) { html in
                html.text(seconds.map { "Reloads every \($0) seconds. " } ?? "Paused. ")
                html.link(
                    seconds == nil ? "Resume" : "Pause",
                    to: context.address(
                        changing: [PageContext.paused: seconds == nil ? nil : "1"]))
            }
        }
    }

    /// The last records of each partition, newest first, with the reasons of rejected ones.
    mutating func writeLive() throws {
        let wanted = context.parameters["topic"].nonempty
        let onlyRefused = context.parameters["refused"] == "1"
        let streams = allStreams.map { $0.streamName }
        if let wanted, !streams.contains(wanted) {
            throw CommandError.usage(
                "unknown topic '\(wanted)': use one of \(streams.joined(separator: ", "))")
        }
        writeReload()
        var choices = [
            (text: "all topics", change: ("topic", String?.none), isChosen: wanted == nil)
        ]
        choices += streams.map { ($0, ("topic", $0), wanted == $0) }
        choices.append(("rejected only", ("refused", onlyRefused ? nil : "1"), onlyRefused))
        let context = context
        write { html in
            html.element("p", ["class": "choices"]) { html in
                for (text, (name, value), isChosen) in choices {
                    html.link(
                        text, to: context.address(changing: [name: value]),
                        class: isChosen ? "chosen" : nil)
                    html.text(" ")
                }
            }
        }
        var records: [LiveRecord] = []
        for topic in streams where wanted == nil || wanted == topic {
            records +=
                (try? source.installation.lastRecords(of: topic, count: Self.lastRecords)) ?? []
        }
        let letters = (try? source.stores.deadLetters(at: records.map(\.position))) ?? []
        let refusals = Dictionary(
            letters.map { ($0.position, $0.refusal) }, uniquingKeysWith: { first, _ in first })
        records.sort { ($0.milliseconds, $1.position) > ($1.milliseconds, $0.position) }
        if onlyRefused { records.removeAll { refusals[$0.position] == nil } }
        guard !records.isEmpty else {
            return paragraph("No records.", class: "empty")
        }
        let columns = ["record", "time", "type", "rejected", "value"].map { ReportTable.Column($0) }
        let rows: [[ReportValue]] = records.prefix(100).map { record in
            let refusal = refusals[record.position]
            return [
                .text("\(record.position)"), .text(UTC.text(milliseconds: record.milliseconds)),
                .text(
                    ShownValue.type(
                        record.type, of: record.position.topic, refusedFor: refusal?.reason)),
                refusal.map { .text("\($0.reason): \($0.detail)") } ?? .null,
                .text(record.beginning),
            ]
        }
        write { html in
            ReportView.write(
                ReportTable(columns: columns, rows: rows), to: &html,
                link: { row, column in column == 0 ? Self.address(of: records[row].position) : nil }
            )
        }
    }

    // MARK: One record

    /// The full content of one record, its campaign, and its outcome.
    mutating func writeRecord() throws {
        let parameters = context.parameters
        let text =
            "\(parameters["topic"] ?? "")/\(parameters["partition"] ?? "")/\(parameters["offset"] ?? "")"
        guard let position = TopicPosition(text),
            let record = try source.installation.record(at: position)
        else {
            throw DashboardError.notFound(
                "/record of \(text): the log does not contain this record")
        }
        let refusal = try? source.stores.deadLetters(at: [position]).first?.refusal
        let isNotification = position.topic == StoreNotificationsFold.streamName
        // The line of a notification is one long signed text, so its content comes first.
        if isNotification { try writeSignature(of: record.line) }
        try section("\(position)", "As in the log. Passwords and receipts are masked.") { page in
            page.write(record, at: position, refusal?.fault)
        }
        try section("Outcome") { page in
            if let erased = record.erased {
                page.paragraph("Erased: \(erased.explanation).", class: "note")
            }
            guard let refusal else {
                return page.paragraph(
                    "No store rejected this record. To see what it added, open the explanation of a number that includes it."
                )
            }
            page.paragraph("\(refusal.reason): \(refusal.detail)", class: "warning")
            guard refusal.reason != "conflict", refusal.value != nil else { return }
            page.button("Requeue this record…", .requeue, [("record", "\(position)")])
        }
        if refusal == nil { try writeAdSignatures(of: record.line, at: position) }
        // Other records are not signed as a whole.
        if position.topic == PostbacksFold.streamName { try writeSignature(of: record.line) }
    }

    private mutating func write(
        _ record: LoggedRecord, at position: TopicPosition, _ fault: Int?
    ) {
        write { html in
            html.element(
                "pre",
                text: ShellWords.text([
                    "weir", "read", "--topic", position.topic, "--partition",
                    "\(position.partition)", "--from", "\(position.offset)", "--to",
                    "\(position.offset + 1)",
                ]))
            guard let text = record.text else { return html.json(of: record.line) }
            html.element("p", ["class": "note"], text: "The value is not JSON of one line:")
            html.element("pre", ["class": "record"]) { html in
                guard let fault, let parts = text.parts(around: fault) else {
                    return html.text(text.all)
                }
                html.text(parts.before)
                html.element(
                    "mark", ["title": "byte \(fault)"],
                    text: parts.marked.isEmpty ? "(end)" : parts.marked)
                html.text(parts.after)
            }
            html.element("details") { html in
                html.element("summary", text: "As a line of JSON")
                html.element("pre", ["class": "record"]) {
                    $0.json(String(decoding: record.line, as: UTF8.self))
                }
            }
        }
    }

    private mutating func writeSignature(of line: [UInt8]) throws {
        try section("Signature and content", "As reported by weir verify.") { page in
            let verifier = try page.source.installation.configuration.verifier()
            let verdict = line.withUnsafeBytes { verifier.verify($0).table }
            page.write {
                $0.lines(verdict.split(separator: "\n", omittingEmptySubsequences: false)) {
                    $0.text(String($1))
                }
            }
        }
    }
}

extension HTML {
    /// JSON over several lines.
    mutating func json(of json: [UInt8]) { lines(JSONLines.indented(json)) { $0.json($1) } }

    fileprivate mutating func lines<Line>(
        _ lines: [Line], _ write: (inout HTML, Line) -> Void
    ) {
        element("pre", ["class": "record"]) { html in
            for line in lines {
                write(&html, line)
                html.element("br")
            }
        }
    }
}

extension PageWriter {
    /// The ad signatures in a record of bids: the fold's verdict, the signed text and the check that decided.
    fileprivate mutating func writeAdSignatures(of line: [UInt8], at position: TopicPosition) throws
    {
        guard position.topic == BidsFold.streamName else { return }
        let record = line.withUnsafeBytes {
            try? RecordLine.record($0, topic: position.topic, partitionCount: .max)
        }
        guard let value = record?.value else { return }
        let recorded = try? source.adSigningKeys(at: position)
        try section(
            "Ad signatures",
            recorded == nil
                ? "Checked with the current keys of catalog.yaml, because no store has folded the record."
                : "Checked with the keys that were configured when the worker folded the record."
        ) { page in
            let keys =
                try recorded
                ?? BidsFold.rules(in: page.source.installation.pipelines).adSigningKeys
            let found = value.withUnsafeBytes { BidSignatureInspection.inspect($0, keys: keys) }
            guard !found.isEmpty else {
                return page.paragraph(
                    "No ad belongs to a network with configured ad_signing_keys, so no signature was checked.",
                    class: "empty")
            }
            for signature in found { page.write(signature) }
        }
    }

    private mutating func write(_ signature: BidSignatureInspection) {
        let fidelity = "\(signature.fidelity.name)"
        let names = [
            signature.bid.isEmpty ? "" : "bid \(signature.bid)",
            signature.seat.isEmpty ? "" : "seat \(signature.seat)", fidelity,
        ].filter { !$0.isEmpty }
        write { $0.element("h3", text: names.joined(separator: ", ")) }
        paragraph(
            "\(signature.verdict.name): \(signature.reason).",
            class: signature.verdict == .valid ? "good" : "warning")
        guard !signature.signedFields.isEmpty else { return }
        let columns: [ReportColumn<SignedField>] = [
            .text("signed_field") { $0.name }, .text("value") { $0.value ?? "(missing)" },
        ]
        write { ReportView.write(ReportTable(signature.signedFields, columns), to: &$0) }
    }
}

/// A record at the end of a topic.
struct LiveRecord {
    let position: TopicPosition
    let milliseconds: Int64
    let type: String
    /// The first part of its value.
    let beginning: String
}

extension Installation {
    private static let beginningBytes = 160

    func lastRecords(of topic: String, count: Int64) throws -> [LiveRecord] {
        let reader = try reader(of: topic)
        defer { reader.close() }
        var records: [LiveRecord] = []
        let mask = SecretMask(topic: topic)
        for bounds in try reader.bounds() {
            let from = max(bounds.earliestOffset, bounds.endOffset - count)
            guard from < bounds.endOffset else { continue }
            var reading = try TopicReading(
                reader, partition: bounds.partition, from: .offset(from),
                to: .offset(bounds.endOffset),
                patience: .seconds(2))
            try reading.readRange { record in
                let value = mask.masked(record) ?? record.value.map { Array($0) } ?? []
                records.append(
                    LiveRecord(
                        position: TopicPosition(
                            topic: topic, partition: record.partition, offset: record.offset),
                        milliseconds: record.timestampMilliseconds,
                        type: record.headers.first(named: "ce_type").map {
                            String(decoding: $0, as: UTF8.self)
                        } ?? "",
                        beginning: String(
                            decoding: value.prefix(Self.beginningBytes), as: UTF8.self)))
            }
        }
        return records
    }

    /// A record of the log; nil if the log does not have it.
    func record(at position: TopicPosition) throws -> LoggedRecord? {
        let reader = try reader(of: position.topic)
        defer { reader.close() }
        let bounds = try reader.bounds().first { $0.partition == position.partition }
        guard let bounds, (bounds.earliestOffset..<bounds.endOffset).contains(position.offset)
        else {
            return nil
        }
        var reading = try TopicReading(
            reader, partition: position.partition, from: .offset(position.offset),
            to: .offset(position.offset + 1), patience: .seconds(10))
        let mask = SecretMask(topic: position.topic)
        var found: LoggedRecord?
        try reading.readRange { record in
            var line: [UInt8] = []
            let masked = mask.masked(record)
            RecordLine.append(record, maskedValue: masked, to: &line)
            let isOneLine = record.value.map { RecordLine.standsAsValue($0) } ?? true
            found = LoggedRecord(
                line: line,
                text: isOneLine
                    ? nil
                    : RecordText(
                        bytes: masked ?? record.value.map { Array($0) } ?? [],
                        isMasked: masked != nil),
                erased: ErasedRecord(record))
        }
        return found
    }
}
