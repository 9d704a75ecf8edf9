import ArgumentParser
import Engine
import Foundation
import History
import JSON
import Program
import Reports
import Store
import Streams
import Wording

struct PromoteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "promote",
        abstract: "Puts replayed stores in force, and lists the corrections for partners.",
        discussion: """
            The workers of the data directory finish their batch, release their stores and wait. The command \
            folds the set up to their offsets and replaces sets.json. Then all programs continue with the new \
            stores. If the command is killed at any time, either the old set or the new one is in force, and the \
            workers continue. The old set is kept: --back puts it in force again.

            The command lists the corrections: postbacks that were published with other content, that should not \
            have been published, or that are missing. Only --emit sends them, each with the next revision and \
            the revision that it supersedes. To send them later, run the same command with --emit while the set \
            is in force.

            After --back, use --back --emit to send the corrections of going back; this changes no stores. A \
            second --back without --emit is then refused: give the directory of the set.

              weir promote data/sets/fixed --dry-run
              weir promote data/sets/fixed
              weir promote data/sets/fixed --emit
              weir promote --back
            """)

    @Argument(help: "The directory of the stores that weir replay --into created.")
    var directory: String?
    @Flag(help: "Put the previous set in force again.")
    var back = false
    @Flag(help: "Send the corrections to the topic partner-postbacks.")
    var emit = false
    @Flag(
        help:
            "Print what would change, up to the offsets that both sets have folded; change nothing."
    )
    var dryRun = false
    @Flag(
        help: """
            Continue even if the set has fewer records than the present one, or if the corrected documents of the present one are lost.
            """)
    var acceptLostHistory = false
    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @Option(
        help: ArgumentHelp(
            "An archive to read first: sqlite:PATH, or off (WEIR_ARCHIVE; default: the archive of the replay).",
            valueName: "address"))
    var archive: String?
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var access: FileAccessOptions
    @Option(
        help: ArgumentHelp(
            "Seconds to wait until workers release their stores (default: 120).",
            valueName: "seconds"))
    var patience = 120
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        let order = try order()
        let promotion = try Promotion(order)
        var report = PromotionReport(
            isDryRun: dryRun, data: order.data,
            directory: promotion.correctionsDirectory ?? order.data)
        report.isBack = back
        var failure: (any Error)?
        if dryRun {
            report.streams = try promotion.check()
            if promotion.streams.isEmpty {
                try addCorrections(of: promotion, in: order.data, to: &report)
            } else {
                try promotion.forEachCorrection { try report.add($0) }
            }
        } else {
            StopSignal.listen()
            if !promotion.streams.isEmpty {
                report.streams = try promotion.run(stop: .ofProcess, tell: Console.write)
            }
            if emit {
                do { report.sent = try send(promotion, order) } catch { failure = error }
            }
            try addCorrections(of: promotion, in: order.data, to: &report)
        }
        try BufferedOutput.print(report, as: format)
        report.streams.compactMap(\.erasedWarning).forEach(Console.write)
        for stream in report.streams {
            guard let refusal = stream.refusal else { continue }
            Console.write("weir-\(stream.stream) will refuse to continue with it: \(refusal)")
        }
        if let failure { throw failure }
        if emit, !dryRun, StopSignal.ofProcess.isRequested {
            throw CommandError.failure(
                "stopped: run the same command again to send the remaining corrections")
        }
    }

    private func order() throws -> PromotionOrder {
        let directory = try data.single("weir promote changes one data directory: give --data once")
        guard back != (self.directory != nil) else {
            throw CommandError.usage(
                back
                    ? "a directory and --back exclude each other: give one"
                    : "the set is missing: give a directory, or --back")
        }
        guard patience >= 0 else {
            throw CommandError.usage("--patience is \(patience): write 0 or more seconds")
        }
        return PromotionOrder(
            data: directory, target: self.directory.map { .directory($0) } ?? .back,
            source: try ReplaySource(log, archive: archive, data: data, pipelines: pipelines),
            acceptsLostHistory: acceptLostHistory, sendsCorrections: emit,
            threadCount: try threadCount(nil), patienceSeconds: patience)
    }

    private func send(_ promotion: Promotion, _ order: PromotionOrder) throws -> Int {
        guard let directory = promotion.correctionsDirectory else { return 0 }
        return try CorrectionSending(directory: directory, data: order.data, source: order.source)
            .run(stop: .ofProcess)
    }

    private func addCorrections(
        of promotion: Promotion, in data: String, to report: inout PromotionReport
    ) throws {
        let sets = try PromotionJournal(directory: data)
        guard promotion.correctionsDirectory != nil,
            let corrections = try CorrectionStore(of: emittingStream, in: sets)
        else { return }
        try corrections.forEach(kinds: Set(Correction.Kind.allCases)) { _, correction in
            try report.add(correction)
        }
    }
}

/// The changes of a promotion, made or planned.
struct PromotionReport: Report {
    private struct Line {
        var correction: Correction
        /// Differences in the content; values are JSON.
        var differences: [(path: String, from: String?, to: String?)]
    }

    private let isDryRun: Bool
    private let data: String
    private let directory: String
    var isBack = false
    var streams: [PromotedStream] = []
    /// The number of sent corrections; nil without `--emit`.
    var sent: Int?
    private var lines: [Line] = []
    /// Ids that are not compared because the set lacks their first records.
    private var notCompared = 0
    private var revenue: [String: RevenueChange] = [:]

    init(isDryRun: Bool, data: String, directory: String) {
        self.isDryRun = isDryRun
        self.directory = directory
        self.data = data
    }

    mutating func add(_ correction: Correction) throws {
        if correction.kind == .notCompared { notCompared += 1 }
        guard correction.kind != .unchanged, correction.kind != .notCompared else { return }
        let new = try correction.postback.document.values()
        let old = try correction.publishedDocument?.values()
        var differences: [(path: String, from: String?, to: String?)] = []
        if correction.kind == .changed, let old {
            differences = PartnerDocument.Values.differences(from: old, to: new)
        }
        add(old, \.before)
        add(correction.kind == .withdrawn ? nil : new, \.after)
        lines.append(Line(correction: correction, differences: differences))
    }

    private mutating func add(
        _ document: PartnerDocument.Values?, _ side: WritableKeyPath<RevenueChange, RevenueBounds>
    ) {
        guard let document, let currency = document["conversion.revenue.currency"]?.json,
            let least = RevenueBounds.micros(document["conversion.revenue.min"]?.json),
            let most = RevenueBounds.micros(document["conversion.revenue.max"]?.json)
        else { return }
        revenue[currency, default: RevenueChange()][keyPath: side].add(least, most)
    }

    private func count(_ kind: Correction.Kind) -> Int {
        lines.count { $0.correction.kind == kind }
    }
}

extension PromotionReport {
    var table: String {
        var text = streams.map(Self.explanation)
        if streams.isEmpty { text.append("the set is already in force") }
        if !lines.isEmpty {
            text += [""] + TextTable(lines, Self.columns).shownLines
        }
        text += ["", summary]
        for (currency, change) in revenue.sorted(by: { $0.key < $1.key }) {
            text.append(
                "revenue \(currency.unquoted): \(change.before.explanation) -> \(change.after.explanation)"
            )
        }
        if !isDryRun, let first = streams.first {
            text.append(
                "to undo this: "
                    + ShellWords.text(
                        ["weir", "promote", isBack ? first.from : "--back", "--data", data]))
        }
        return text.map(\.withoutControls).joined(separator: "\n") + "\n"
    }

    private static func explanation(_ stream: PromotedStream) -> String {
        let behind =
            stream.behind > 0 ? ", \(counted(stream.behind, "record")) folded in addition" : ""
        return "\(stream.stream): \(stream.from) -> \(stream.to)\(behind)"
    }

    private static let columns: [ReportColumn<Line>] = [
        .text("correction") { $0.correction.kind.rawValue },
        .text("state") { $0.correction.state.rawValue },
        .text("partner") { $0.correction.postback.partner },
        .text("id") { $0.correction.postback.id },
        .number("revision") { $0.correction.revision },
        .text("campaign") { $0.correction.postback.campaign },
        .number("app") { $0.correction.postback.appID },
        .text("difference") { line in
            line.differences.map { path, from, to in
                "\(path) \(from?.unquoted ?? "null") -> \(to?.unquoted ?? "null")"
            }.joined(separator: ", ")
        },
    ]

    private var summary: String {
        let kinds = [Correction.Kind.changed, .added, .withdrawn].map { "\(count($0)) \($0)" }
        let due = lines.count { $0.correction.state == .due || $0.correction.state == .sending }
        var explanation = "corrections: \(kinds.joined(separator: ", "))"
        if notCompared > 0 {
            explanation +=
                "; \(notCompared) not compared, because the set does not have their first record"
        }
        if let sent { explanation += "; \(sent) sent" }
        if due > 0, !isDryRun {
            explanation +=
                "; \(due) not sent: \(ShellWords.text(["weir", "promote", directory, "--emit"])) sends them"
        }
        return explanation
    }
}

extension PromotionReport {
    func write(to json: inout JSONText) {
        json.object { json in
            json.objects("streams", streams) { stream, json in
                json.member("stream", stream.stream)
                json.member("from", stream.from)
                json.member("to", stream.to)
                json.member("behind", stream.behind)
                json.member("erased", stream.erased)
            }
            json.objects("corrections", lines, Self.writeMembers)
            json.object("totals", writeTotals)
        }
    }

    private static func writeMembers(of line: Line, to json: inout JSONText) {
        let correction = line.correction
        let postback = correction.postback
        json.member("kind", correction.kind.rawValue)
        json.member("state", correction.state.rawValue)
        json.member("partner", postback.partner)
        json.member("id", postback.id)
        json.member("revision", correction.revision)
        json.member("supersedes", correction.supersedes)
        json.member("ad_network_id", postback.adNetworkID)
        json.member("campaign", postback.campaign)
        json.member("app_id", postback.appID)
        json.member("partition", postback.partition)
        json.member("offset", postback.originOffset)
        json.objects("differences", line.differences) { difference, json in
            json.member("path", difference.path)
            json.name("from")
            json.raw(difference.from ?? "null")
            json.name("to")
            json.raw(difference.to ?? "null")
        }
    }

    private func writeTotals(to json: inout JSONText) {
        for kind in [Correction.Kind.changed, .added, .withdrawn] {
            json.member(kind.rawValue, count(kind))
        }
        json.member(Correction.Kind.notCompared.rawValue, notCompared)
        json.member("sent", sent)
        json.objects("revenue", revenue.sorted { $0.key < $1.key }) { currency, json in
            json.name("currency")
            json.raw(currency.key)
            let change = currency.value
            for (name, bounds) in [("before", change.before), ("after", change.after)] {
                json.member("\(name)_min_micros", bounds.least)
                json.member("\(name)_max_micros", bounds.most)
            }
        }
    }
}

/// The revenue of some postbacks in a currency, before and after correction.
private struct RevenueChange {
    var before = RevenueBounds()
    var after = RevenueBounds()
}

private struct RevenueBounds {
    private(set) var least: Int128 = 0
    private(set) var most: Int128 = 0

    mutating func add(_ least: Int128, _ most: Int128) {
        self.least += least
        self.most += most
    }

    var explanation: String { "\(least.microsInUnits)..\(most.microsInUnits)" }

    /// Parses a decimal number of units; nil for other text.
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
}

extension String {
    /// The text of a JSON string without its quotes.
    fileprivate var unquoted: String {
        count >= 2 && hasPrefix("\"") && hasSuffix("\"") ? String(dropFirst().dropLast()) : self
    }
}
