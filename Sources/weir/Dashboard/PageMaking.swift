import Collector
import EventLog
import Foundation
import Program
import Reports
import Streams

/// Makes what one request asks for: a page, a file of rows, an explanation or evidence.
struct PageMaking {
    let source: PageSource
    let path: String
    let parameters: QueryParameters
    let scope: [DumpQuery.Condition]

    struct Made {
        var status = 200
        var contentType = "text/html; charset=utf-8"
        var body: [UInt8]
    }

    // MARK: Pages and files

    func response(formToken: String?) -> Made {
        do {
            if let file = try file() { return file }
            return try page(formToken)
        } catch {
            return failure(error, formToken)
        }
    }

    private func viewing() -> (Viewing, [StreamStanding]) {
        let standings = (try? source.standings()) ?? []
        return (
            Viewing(
                path: path, parameters: parameters, scope: scope,
                newestMilliseconds: standings.compactMap(\.newestMilliseconds).max()),
            standings
        )
    }

    /// The part of the path after a prefix; nil for another path.
    private func name(after prefix: String) -> String? {
        path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : nil
    }

    private func page(_ formToken: String?) throws -> Made {
        let (viewing, standings) = viewing()
        let page = DashboardPage(path: path)
        if let page, page.isOfEverything, !scope.isEmpty { throw DashboardError.ofEverything }
        var writer = PageWriter(source, viewing, period: page?.period ?? .month)
        var title = page?.title ?? ""
        if let page {
            let day = viewing.newestMilliseconds.map { UTC.day(milliseconds: $0) }
            if page == .today, viewing.period(default: .day) == .day, let day {
                title = "The day of \(day)"
            } else if page == .today {
                title = "What came \(viewing.periodName(default: .day))"
            }
            writer.write { $0.element("h1", text: title) }
            try writer.write(page)
        } else if path == "/campaign" {
            title = "Campaign \(parameters["campaign"] ?? "")"
            let names = try source.names(of: viewing)
            writer.write { html in
                html.element("h1", text: title)
                for name in names { html.element("p", ["class": "note"], text: name) }
            }
            try writer.writeCampaign()
        } else if path == "/dumps" {
            title = "All dumps"
            writer.writeDumps()
        } else if path == "/record" {
            title = "Record"
            try writer.writeRecord()
        } else if path == "/delivery" {
            title = "Delivery"
            try writer.writeDelivery()
        } else if let name = name(after: "/dump/") {
            title = name
            try writer.writeDump(name)
        } else if let name = name(after: "/changes/") {
            title = "Changes of \(name)"
            try writer.writeChanges(name)
        } else {
            throw DashboardError.notFound(path)
        }
        var layout = PageLayout(viewing: viewing, current: page, title: title, formToken: formToken)
        if page == .live { layout.refreshSeconds = 5 }
        let content = writer.html
        return Made(
            body: layout.document(page?.period ?? .month, footer(viewing, standings)) {
                $0.append(content)
            })
    }

    private func footer(_ viewing: Viewing, _ standings: [StreamStanding]) -> PageFooter {
        PageFooter(
            standings: standings, directories: source.options.data.directories,
            pipelines: source.options.pipelines.directory.path, failures: source.failures)
    }

    /// The rows of a dump as CSV or JSON; nil where the path asks for none.
    private func file() throws -> Made? {
        let (viewing, _) = viewing()
        if let (name, format) = try fileName(after: "/changes/") {
            var bytes: [UInt8] = []
            try ChangesPage(source, viewing, name).table.write(as: format) { bytes += $0 }
            return Made(contentType: Self.contentType(of: format), body: bytes)
        }
        guard let (name, format) = try fileName(after: "/dump/") else { return nil }
        let question = try viewing.limited(Question(name, parameters))
        return Made(
            contentType: Self.contentType(of: format),
            body: try source.file(of: question, as: format))
    }

    /// The name and the format of a file that is asked for; nil where the path names none.
    private func fileName(after prefix: String) throws -> (name: String, format: DumpFormat)? {
        guard let name = name(after: prefix), let dot = name.lastIndex(of: ".") else { return nil }
        guard let format = DumpFormat(rawValue: String(name[name.index(after: dot)...])),
            format != .table
        else { throw DashboardError.notFound(path) }
        return (String(name[..<dot]), format)
    }

    private static func contentType(of format: DumpFormat) -> String {
        switch format {
        case .csv: "text/csv; charset=utf-8"
        case .json: "application/json"
        case .ndjson: "application/x-ndjson"
        case .table: "text/plain; charset=utf-8"
        }
    }

    private func failure(_ error: any Error, _ formToken: String?) -> Made {
        let (viewing, standings) = viewing()
        let status =
            (error as? DashboardError)?.status ?? (CommandError(error)?.exitCode == 64 ? 400 : 500)
        let explanation = CommandError(error)?.explanation ?? "\(error)"
        let layout = PageLayout(
            viewing: viewing, current: nil, title: "Not shown", formToken: formToken)
        return Made(
            status: status,
            body: layout.document(.month, footer(viewing, standings)) { html in
                html.element("h1", text: "Not shown")
                html.element("p", ["class": "warning", "role": "alert"], text: explanation)
            })
    }

    // MARK: Explanations and evidence

    /// What the first piece of a stream begins with.
    private enum Mark {
        static let page: UInt8 = 0
        static let evidence: UInt8 = 1
        static let failure: UInt8 = 2

        /// Of files of records; their formats have one each.
        static let formats: [(mark: UInt8, format: DumpFormat)] = [
            (3, .csv), (4, .json), (5, .ndjson),
        ]
    }

    struct Kind {
        let status: Int
        let contentType: String
        let fileName: String?
        /// The piece without its mark.
        let rest: [UInt8]
    }

    static func kind(ofFirst piece: [UInt8]) -> Kind {
        let rest = Array(piece.dropFirst())
        if let file = Mark.formats.first(where: { $0.mark == piece.first }) {
            return Kind(
                status: 200, contentType: contentType(of: file.format), fileName: nil, rest: rest)
        }
        switch piece.first {
        case Mark.evidence:
            return Kind(
                status: 200, contentType: "application/x-tar", fileName: "evidence.tar", rest: rest)
        case Mark.failure:
            return Kind(
                status: Int(rest.first ?? 5) * 100 + Int(rest.dropFirst().first ?? 0),
                contentType: "text/html; charset=utf-8", fileName: nil,
                rest: Array(rest.dropFirst(2)))
        default:
            return Kind(
                status: 200, contentType: "text/html; charset=utf-8", fileName: nil, rest: rest)
        }
    }

    /// Hands over a page or a file piece by piece, while it is made.
    func stream(
        formToken: String?, isWanted: @escaping @Sendable () -> Bool,
        _ yield: ([UInt8]) -> Void
    ) {
        var hasBegun = false
        do {
            if let name = name(after: "/evidence/") {
                try streamEvidence(name, isWanted, &hasBegun, yield)
            } else if let (name, format) = try fileName(after: "/explain/") {
                let mark = Mark.formats.first { $0.format == format }?.mark ?? Mark.page
                let (viewing, _) = viewing()
                yield(
                    [mark]
                        + (try ExplanationPage(source, viewing, name)
                            .file(as: format, while: isWanted)))
            } else if let name = name(after: "/explain/") {
                try streamExplanation(name, formToken, isWanted, &hasBegun, yield)
            }
        } catch is CancellationError {
            return
        } catch {
            guard hasBegun else {
                let made = failure(error, formToken)
                let head = [Mark.failure, UInt8(made.status / 100), UInt8(made.status % 100)]
                return yield(head + made.body)
            }
            var html = HTML()
            html.element(
                "p", ["class": "warning", "role": "alert"],
                text: CommandError(error)?.explanation ?? "\(error)")
            yield(html.bytes)
        }
    }

    private func streamExplanation(
        _ name: String, _ formToken: String?, _ isWanted: @escaping @Sendable () -> Bool,
        _ hasBegun: inout Bool, _ yield: ([UInt8]) -> Void
    ) throws {
        let (viewing, standings) = viewing()
        let page = try ExplanationPage(source, viewing, name)
        let layout = PageLayout(
            viewing: viewing, current: nil, title: page.title, formToken: formToken)
        let (before, after) = layout.parts(.month, footer(viewing, standings))
        try page.write(isWanted: isWanted) { html in
            guard isWanted() else { throw CancellationError() }
            yield(hasBegun ? html.bytes : [Mark.page] + before.bytes + html.bytes)
            hasBegun = true
        }
        yield(after.bytes)
    }

    private func streamEvidence(
        _ name: String, _ isWanted: @escaping @Sendable () -> Bool, _ hasBegun: inout Bool,
        _ yield: ([UInt8]) -> Void
    ) throws {
        let (viewing, _) = viewing()
        let page = try ExplanationPage(source, viewing, name)
        guard scope.isEmpty else { throw DashboardError.ofEverything }
        let path = "\(NSTemporaryDirectory())/weir-evidence-\(UUID().uuidString).tar"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try page.writeEvidence(to: path, while: isWanted)
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw CommandError.failure("cannot read \(path)")
        }
        defer { try? file.close() }
        while let piece = try file.read(upToCount: 1 << 20), !piece.isEmpty, isWanted() {
            yield((hasBegun ? [] : [Mark.evidence]) + Array(piece))
            hasBegun = true
        }
    }
}

extension PageWriter {
    /// Everything that can be asked for, by name.
    mutating func writeDumps() {
        write { html in
            html.element("h1", text: "All dumps")
            html.element("dl") { html in
                let funnel = (
                    name: Funnel.name, note: "Each campaign from the bid to the revenue.",
                    by: ["day"]
                )
                let others = DumpDescription.all.map { dump in
                    let names = dump.columns.map(\.name)
                    return (
                        name: dump.name, note: dump.note,
                        by: names.contains("day") ? ["day"] : Array(names.prefix(1))
                    )
                }
                let workedOut = Question.workedOut.map {
                    (name: $0.key, note: $0.value, by: [String]())
                }
                for (name, note, by) in [funnel] + workedOut + others {
                    html.element("dt") { html in
                        html.link(name, to: Question(name, by: by).address)
                    }
                    html.element("dd", text: note)
                }
            }
        }
    }
}
