import AggregateStore
import Inspection
import Streams
import Worker

/// What a promotion has changed, or would change, as text.
struct PromotionReport {
    /// A correction, as it is listed.
    private struct Line {
        var correction: Correction
        /// Where the content differs, values as JSON.
        var differences: [(path: String, from: String?, to: String?)]
    }

    private let isDryRun: Bool
    private let data: String
    /// Where the corrections are.
    private let directory: String
    /// Whether they go back.
    var isBack = false
    /// The stores that change.
    var streams: [PromotedStream] = []
    /// How many corrections were sent now; nil when that was not asked for.
    var sent: Int?
    private var lines: [Line] = []
    private var revenue: [String: RevenueChange] = [:]

    init(isDryRun: Bool, data: String, directory: String) {
        self.isDryRun = isDryRun
        self.directory = directory
        self.data = data
    }

    /// Lists a correction.
    mutating func add(_ correction: Correction) throws {
        guard correction.kind != .unchanged else { return }
        let new = try PostbackDocumentText(correction.postback.document)
        let old = try correction.publishedDocument.map { try PostbackDocumentText($0) }
        var differences: [(path: String, from: String?, to: String?)] = []
        if correction.kind == .changed, let old {
            differences = PostbackDocumentText.differences(from: old, to: new)
        }
        let isWithdrawn = correction.kind == .withdrawn
        note(old, \.before)
        note(isWithdrawn ? nil : new, \.after)
        lines.append(Line(correction: correction, differences: differences))
    }

    private mutating func note(
        _ document: PostbackDocumentText?, _ side: WritableKeyPath<RevenueChange, RevenueBounds>
    ) {
        guard let document, let currency = document["conversion.revenue.currency"],
            let least = RevenueBounds.micros(document["conversion.revenue.min"]),
            let most = RevenueBounds.micros(document["conversion.revenue.max"])
        else { return }
        revenue[currency, default: RevenueChange()][keyPath: side].add(least, most)
    }

    func text(_ format: ReportFormat) -> String {
        switch format {
        case .table: table
        case .json: json
        }
    }

    private func count(_ kind: Correction.Kind) -> Int {
        lines.count { $0.correction.kind == kind }
    }
}

// MARK: Table

extension PromotionReport {
    private var table: String {
        var text = streams.map(Self.words)
        if streams.isEmpty { text.append("the set is in force already") }
        if !lines.isEmpty {
            let table = TextTable(
                header: [
                    "correction", "state", "partner", "id", "revision", "campaign", "app",
                    "difference",
                ],
                isNumber: [false, false, false, false, true, false, true, false],
                rows: lines.map(Self.cells))
            text += [""] + table.lines
        }
        text += ["", summary]
        for (currency, change) in revenue.sorted(by: { $0.key < $1.key }) {
            text.append(
                "revenue \(currency.unquoted): \(change.before.words) -> \(change.after.words)")
        }
        if !isDryRun, let first = streams.first {
            text.append(
                isBack
                    ? "forth again: weir promote \(first.from) --data \(data)"
                    : "back: weir promote --back --data \(data)")
        }
        return text.map(\.withoutControls).joined(separator: "\n") + "\n"
    }

    private static func words(_ stream: PromotedStream) -> String {
        let behind = stream.behind > 0 ? ", \(stream.behind) records folded on" : ""
        return "\(stream.stream): \(stream.from) -> \(stream.to)\(behind)"
    }

    private static func cells(_ line: Line) -> [String] {
        let correction = line.correction
        let postback = correction.postback
        return [
            correction.kind.rawValue, correction.state.rawValue, postback.partner, postback.id,
            "\(correction.revision)", postback.campaign, "\(postback.appID)",
            line.differences.map { difference in
                let name = difference.path
                return
                    "\(name) \(difference.from?.unquoted ?? "null") -> \(difference.to?.unquoted ?? "null")"
            }.joined(separator: ", "),
        ]
    }

    private var summary: String {
        let kinds = [Correction.Kind.changed, .added, .withdrawn].map { "\(count($0)) \($0)" }
        let due = lines.count { $0.correction.state == .due || $0.correction.state == .sending }
        var words = "corrections: \(kinds.joined(separator: ", "))"
        if let sent { words += "; \(sent) sent" }
        if due > 0, !isDryRun {
            words += "; \(due) not sent: weir promote \(directory) --emit sends them"
        }
        return words
    }
}

// MARK: JSON

extension PromotionReport {
    private var json: String {
        var json = JSONText()
        json.object { json in
            json.name("streams")
            json.array { json in
                for stream in streams {
                    json.object { json in
                        json.name("stream")
                        json.string(stream.stream)
                        json.name("from")
                        json.string(stream.from)
                        json.name("to")
                        json.string(stream.to)
                        json.name("behind")
                        json.raw(stream.behind)
                    }
                }
            }
            json.name("corrections")
            json.array { json in for line in lines { Self.write(line, to: &json) } }
            json.name("totals")
            json.object { json in writeTotals(to: &json) }
        }
        return json.text.withoutControlsInJSON + "\n"
    }

    private static func write(_ line: Line, to json: inout JSONText) {
        let correction = line.correction
        let postback = correction.postback
        json.object { json in
            json.name("kind")
            json.string(correction.kind.rawValue)
            json.name("state")
            json.string(correction.state.rawValue)
            json.name("partner")
            json.string(postback.partner)
            json.name("id")
            json.string(postback.id)
            json.name("revision")
            json.raw(correction.revision)
            json.name("supersedes")
            json.string(correction.supersedes)
            json.name("ad_network_id")
            json.string(postback.adNetworkID)
            json.name("campaign")
            json.string(postback.campaign)
            json.name("app_id")
            json.raw(postback.appID)
            json.name("partition")
            json.raw(postback.partition)
            json.name("offset")
            json.raw(postback.originOffset)
            json.name("differences")
            json.array { json in
                for (path, from, to) in line.differences {
                    json.object { json in
                        json.name("path")
                        json.string(path)
                        json.name("from")
                        json.raw(from ?? "null")
                        json.name("to")
                        json.raw(to ?? "null")
                    }
                }
            }
        }
    }

    private func writeTotals(to json: inout JSONText) {
        for kind in [Correction.Kind.changed, .added, .withdrawn] {
            json.name(kind.rawValue)
            json.raw(count(kind))
        }
        json.name("sent")
        json.raw(sent.map { "\($0)" } ?? "null")
        json.name("revenue")
        json.array { json in
            for (currency, change) in revenue.sorted(by: { $0.key < $1.key }) {
                json.object { json in
                    json.name("currency")
                    json.raw(currency)
                    for (name, bounds) in [("before", change.before), ("after", change.after)] {
                        json.name("\(name)_min_micros")
                        json.raw(bounds.least)
                        json.name("\(name)_max_micros")
                        json.raw(bounds.most)
                    }
                }
            }
        }
    }
}

/// The revenue of some postbacks in a currency, before and after they were corrected.
private struct RevenueChange {
    var before = RevenueBounds()
    var after = RevenueBounds()
}

/// Bounds of revenue, in micros of a currency.
private struct RevenueBounds {
    private(set) var least: Int128 = 0
    private(set) var most: Int128 = 0

    mutating func add(_ least: Int128, _ most: Int128) {
        self.least += least
        self.most += most
    }

    var words: String { "\(Self.units(least))..\(Self.units(most))" }

    /// Reads a decimal number of units; nil for what is none.
    static func micros(_ text: String?) -> Int128? {
        guard let text else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, let whole = Int128(parts[0]) else {
            return Double(text).map { Int128(($0 * 1_000_000).rounded()) }
        }
        guard parts.count == 2 else { return whole * 1_000_000 }
        let digits = parts[1].prefix(6)
        let padded = digits + String(repeating: "0", count: 6 - digits.count)
        return Int128(padded).map { whole * 1_000_000 + $0 }
    }

    private static func units(_ micros: Int128) -> String {
        let fraction = String(micros % 1_000_000)
        guard fraction != "0" else { return "\(micros / 1_000_000)" }
        var digits = Substring(String(repeating: "0", count: 6 - fraction.count) + fraction)
        while digits.last == "0" { digits = digits.dropLast() }
        return "\(micros / 1_000_000).\(digits)"
    }
}

extension String {
    /// The text of a JSON string as people read it.
    fileprivate var unquoted: String {
        count >= 2 && hasPrefix("\"") && hasSuffix("\"") ? String(dropFirst().dropLast()) : self
    }
}
