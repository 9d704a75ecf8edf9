import ConfigurationValues
import Foundation
import Program
import Reports
import Streams

/// Writes a page from requests: each answer as a table with its numbers linked to their explanations, and with the same
/// rows as files and as a command.
struct PageWriter {
    let source: PageSource
    let context: PageContext
    let period: PageContext.Period
    private(set) var html = HTML()
    /// The first configuration file that prevented a section.
    private(set) var brokenFile: ConfigurationError?
    /// The heading of the current section, which names its tables.
    private(set) var sectionTitle = ""
    /// Whether any section has content.
    private(set) var showsAnything = false

    /// The maximum number of rows in a table unless all are requested.
    static let mostRows = 200

    init(_ source: PageSource, _ context: PageContext, period: PageContext.Period) {
        self.source = source
        self.context = context
        self.period = period
    }

    var days: (since: String?, until: String?) { context.bounds(default: period) }

    /// A page with the days of this one, also if its own usual days are others.
    func addressWithDays(
        _ path: String, _ more: [(name: String, value: String)] = []
    ) -> PageAddress {
        let usual = context.usualPeriod(of: DashboardPage.at(path))
        let own = period == usual ? nil : context.period(default: period)
        return context.address(path, (own.map { [(PageContext.period, $0.rawValue)] } ?? []) + more)
    }

    func answer(
        _ request: ReportAddress, days: (since: String?, until: String?)? = nil,
        keeping bound: RowBound = RowBound(PageSource.mostRows)
    ) throws -> PageAnswer {
        let request = try limited(request, to: days ?? self.days)
        try context.checkFilters(of: request)
        do {
            return try source.answer(request, keeping: bound)
        } catch InspectionError.noRates(_, let missing) where request.has(.sums) {
            // Stored rows have the currency of each amount, so they can be shown without rates.
            source.filterUse.add(PageContext.currency, of: request.name, isApplied: false)
            source.filterUse.missingRates = missing
            var recorded = request
            recorded.target = nil
            return try source.answer(recorded, keeping: bound)
        }
    }

    /// The request limited to the selection. Notes the filters that its rows do not have.
    func limited(_ request: ReportAddress, to days: PageContext.Days? = nil) throws -> ReportAddress
    {
        noteFilters(of: request)
        if context.target != nil, let report = request.report, report.abilities.contains(.amounts),
            PageContext.hasAmounts(report)
        {
            source.filterUse.add(
                PageContext.currency, of: request.name,
                isApplied: request.target != nil || PageContext.isConverted(report))
        }
        return try context.limited(request, to: days)
    }

    /// Notes which filters limit a report.
    func noteFilters(of request: ReportAddress) {
        let ignored = context.ignored(by: request.columns)
        for condition in context.chosen where !ignored.contains(condition.column) {
            source.filterUse.add(condition.column, of: request.name, isApplied: true)
        }
    }

    // MARK: Parts of a page

    /// The heading of a page, with the shown days.
    mutating func writeHeading(_ title: String, _ note: String = "", showsDays: Bool) {
        html.element("h1", text: title)
        if !note.isEmpty { html.element("p", ["class": "ids"], text: note) }
        guard showsDays else { return }
        let days = "\(context.namedDays(default: period)) (\(context.timeZone.name))"
        let reason = context.reasonForDays(to: period).map { ". \($0)" } ?? ""
        html.element("p", ["class": "range"], text: days + reason)
    }

    mutating func paragraph(_ text: String, class name: String? = nil) {
        html.element("p", ["class": name], text: text)
    }

    /// Notices of a report as sentences. Files are named without their directory.
    mutating func writeNotices(_ notices: [String]) {
        for notice in notices {
            paragraph(
                Self.sentence(notice, filesIn: source.installation.pipelines.path), class: "note")
        }
    }

    static func sentence(_ notice: String, filesIn directory: String) -> String {
        let text = notice.replacing("\(directory)/", with: "")
        return text.prefix(1).uppercased() + text.dropFirst() + (text.hasSuffix(".") ? "" : ".")
    }

    /// A section with a heading. An error is shown in its place, and the rest of the page is still written.
    mutating func section(
        _ title: String, _ note: String? = nil, _ body: (inout PageWriter) throws -> Void
    ) throws {
        var part = PageWriter(source, context, period: period)
        part.sectionTitle = title
        source.filterUse.missingRates = nil
        var isShown = true
        do {
            try body(&part)
            showsAnything = true
        } catch let error as ConfigurationError {
            brokenFile = brokenFile ?? error
            part = PageWriter(source, context, period: period)
            // Files belong to the whole instance and contain other campaigns too.
            let reason =
                context.scope.isEmpty
                ? "a configuration file is invalid: \(error)"
                : "the operator of Weir can open the same address to see the reason."
            part.paragraph("Not shown: \(reason)", class: "warning")
        } catch DashboardError.unfiltered(let columns, let report) {
            part = PageWriter(source, context, period: period)
            part.writeUnfiltered(columns, report)
            isShown = false
        } catch let error as DashboardError {
            part = PageWriter(source, context, period: period)
            part.paragraph("\(error)", class: "empty")
        } catch InspectionError.noRates(_, let missing) {
            part = PageWriter(source, context, period: period)
            part.writeMissingRates(missing)
        } catch InspectionError.noStore(let streams, _) {
            part = PageWriter(source, context, period: period)
            part.writeHowToFill(streams)
        } catch InspectionError.unknownSum {
            part = PageWriter(source, context, period: period)
            part.paragraph(
                "Not shown: an earlier version of Weir did not count a number that this needs. Choose a later period, or run weir upgrade.",
                class: "warning")
        }
        html.element("section", ["id": Self.anchor(title)]) { html in
            html.element("h2", text: title)
            if let note, isShown { html.element("p", ["class": "note"], text: note) }
            if let missing = source.filterUse.missingRates, isShown {
                html.element(
                    "p", ["class": "unfiltered"],
                    text:
                        "Amounts are as recorded, because rates.csv has no rate of \(missing).")
            }
            html.append(part.html)
        }
    }

    /// Links to sections of a long page.
    mutating func writeContents(_ titles: [String]) {
        html.element("nav", ["class": "choices", "aria-label": "Sections"]) { html in
            for title in titles {
                html.element("a", ["href": "#\(Self.anchor(title))"], text: title)
                html.text(" ")
            }
        }
    }

    /// The id of a section.
    static func anchor(_ title: String) -> String {
        title.lowercased().split { !$0.isLetter && !$0.isNumber }.joined(separator: "-")
    }

    /// Explains why numbers are missing that a filter cannot limit, with a link that removes the filter.
    ///
    /// - Parameter subject: what is missing, if it is not the whole section.
    mutating func writeUnfiltered(_ columns: [String], _ report: String, of subject: String = "") {
        for column in columns { source.filterUse.addHidden(column) }
        let context = context
        write { html in
            html.element("p", ["class": "unfiltered"]) { html in
                let names = columns.map(ShownValue.heading).joined(separator: " and ")
                html.text(subject.isEmpty ? "Not by \(names). " : "\(subject): not by \(names). ")
                for column in columns {
                    html.text("\(ShownValue.sentence(context.whyUnfiltered(column, report))). ")
                }
                let all = columns.map { ShownValue.plural(ShownValue.heading($0)) }
                html.link(
                    "Show all \(all.joined(separator: " and "))",
                    to: context.address(
                        changing: Dictionary(uniqueKeysWithValues: columns.map { ($0, nil) })))
            }
        }
    }

    private mutating func writeMissingRates(_ missing: String) {
        let context = context
        write { html in
            html.element("p", ["class": "empty"]) { html in
                html.text(
                    "Amounts cannot be converted: rates.csv has no rate of \(missing). Add the lines, or "
                )
                html.link(
                    "show amounts as recorded",
                    to: context.recordedAddress)
                html.text(".")
            }
        }
    }

    /// Explains which records to send, until the first ones arrive.
    private mutating func writeHowToFill(_ streams: [String]) {
        let names = streams.joined(separator: " or ")
        paragraph(
            "No records of \(names) yet. Send some to the collector or publish a file, and run \(streams.map { "weir-\($0)" }.joined(separator: " or ")) (weir up runs all workers):",
            class: "empty")
        for stream in streams.prefix(1) {
            html.element(
                "pre",
                text: "weir publish --topic \(stream) --topics topics examples/\(stream).ndjson")
        }
    }

    /// Links to the same rows as files and at earlier times, and the command.
    mutating func files(of answer: PageAnswer) { files(of: answer.request) }

    mutating func files(of request: ReportAddress) { files(of: [request]) }

    /// The same of several requests, whose numbers are shown together.
    mutating func files(of requests: [ReportAddress]) {
        html.files(
            requests.map { request in
                let title = requests.count > 1 ? "\(request.name): " : ""
                return HTML.Files(
                    title: title,
                    links: [
                        ("CSV", request.address(as: .csv)), ("JSON", request.address(as: .json)),
                        ("this table on its own page", request.address),
                    ], command: request.command(source.clockWords))
            })
    }

    mutating func files(_ links: [(name: String, address: PageAddress)], _ command: String) {
        html.files([HTML.Files(links: links, command: command)])
    }

    mutating func write(_ body: (inout HTML) throws -> Void) rethrows { try body(&html) }
}

extension HTML {
    /// Links to rows as files, and their command.
    struct Files {
        /// What the rows are; empty if only one table is meant.
        var title = ""
        let links: [(name: String, address: PageAddress)]
        let command: String
        /// A note on the files.
        var note = ""
    }

    mutating func files(_ all: [Files]) {
        element("details", ["class": "files"]) { html in
            html.element("summary", text: "CSV, JSON, command")
            for files in all {
                html.element("p") { html in
                    html.text(files.title)
                    for (name, address) in files.links {
                        html.link(name, to: address)
                        html.text(" ")
                    }
                    html.text(files.note)
                }
                html.element("pre", text: files.command)
            }
        }
    }
}
