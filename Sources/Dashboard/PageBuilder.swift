import EventLog
import Foundation
import Monitoring
import Program
import Reports
import Streams

/// Builds the answer to one request: a page, a file of rows, an explanation or evidence.
struct PageBuilder {
    let source: PageSource
    /// The route of the path; nil for an unknown path.
    let route: PageRoute?
    let path: String
    let parameters: QueryParameters
    let scope: [ReportRequest.Condition]

    struct Made {
        var status = 200
        var contentType = "text/html; charset=utf-8"
        var body: [UInt8]
    }

    // MARK: Pages

    func response(formToken: String?) -> Made {
        do {
            return try page(formToken)
        } catch {
            return failure(error, formToken)
        }
    }

    private func context() -> (PageContext, [StreamStanding]) {
        let standings = (try? source.standings()) ?? []
        var context = PageContext(
            path: path, parameters: parameters, scope: scope,
            newestMilliseconds: standings.newestMilliseconds,
            presentMilliseconds: (try? source.installation.present.milliseconds)
                ?? WallClock.milliseconds)
        context.timeZone = (try? source.timeZone) ?? .utc
        context.firstMilliseconds = standings.firstMilliseconds.map(
            context.timeZone.startOfDay(milliseconds:))
        // The address of a report has its currency.
        if route?.report == nil {
            context.reportCurrency = (try? source.configuration.catalog())?.reportCurrency
        }
        for (bundle, app) in (try? source.configuration.appsByBundle()) ?? [:] {
            context.bundles["\(app)"] = bundle
        }
        return (context, standings)
    }

    /// The route, if it exists and the reader may see it.
    private func allowedRoute() throws -> PageRoute {
        guard let route else { throw DashboardError.notFound(path) }
        guard scope.isEmpty || !route.isOfEverything else { throw DashboardError.ofEverything }
        let zone = (try? source.timeZone) ?? .utc
        guard let valid = route.parameters else {
            try PageContext.check(parameters, in: zone)
            return route
        }
        if let unknown = parameters.names.first(where: { name in
            !valid.contains(name) && !(route.takesPicks && CampaignPick.isParameter(name))
        }) {
            throw CommandError.usage(
                "unknown parameter '\(unknown)': use one of \(valid.joined(separator: ", "))")
        }
        if let twice = parameters.repeated.min() {
            throw CommandError.usage("\(twice) is given twice: keep one value")
        }
        try PageContext.check(parameters, in: zone)
        return route
    }

    private func page(_ formToken: String?) throws -> Made {
        let route = try allowedRoute()
        let (context, standings) = context()
        let page = if case .page(let page) = route { page } else { DashboardPage?.none }
        let period = route.report == nil ? context.usualPeriod(of: page) : .all
        var writer = PageWriter(source, context, period: period)
        let title = try write(route, standings, to: &writer)
        if let broken = writer.brokenFile, !writer.showsAnything { throw broken }
        var layout = PageLayout(
            context: context, current: page, title: title, formToken: formToken,
            names: source.names(for: scope))
        if case .ofDump(.dump, let name, _) = route {
            layout.report = try ReportAddress(name, parameters)
        }
        layout.hasBar =
            page != nil || layout.report != nil
            || [.single(.campaign), .single(.compare)].contains(route)
        layout.use = source.filterUse
        layout.currencies = source.currencies
        if page == .publisher { layout.sourceApps = writer.sourceApps() }
        if page == .live { layout.reloadSeconds = context.reloadSeconds }
        let content = writer.html
        return Made(
            body: layout.document(period, footer(context, standings)) {
                $0.append(content)
            })
    }

    /// Writes the content of a page and returns its title.
    private func write(
        _ route: PageRoute, _ standings: [StreamStanding], to writer: inout PageWriter
    ) throws -> String {
        switch route {
        case .page(let page):
            writer.writeHeading(page.title, showsDays: page.isOfDays)
            try writer.writeDataState()
            if page.needsRecords, !standings.isEmpty, scope.isEmpty { try writer.writeOutages() }
            if page == .overview, standings.isEmpty {
                writer.writeFirstSteps()
            } else {
                try writer.write(page)
            }
            return page.title
        case .single(.campaign): return try writer.writeCampaign()
        case .single(.compare):
            try writer.writeComparison()
            return "Compare campaigns"
        case .single(.record):
            writer.writeHeading("Record", showsDays: false)
            try writer.writeRecord()
            return "Record"
        case .single(.delivery):
            writer.writeHeading("Delivery", showsDays: false)
            try writer.writeDelivery()
            return "Delivery"
        case .ofDump(.dump, let name, nil):
            writer.writeHeading("Report \(name)", showsDays: true)
            try writer.writeDump(name)
            return "Report \(name)"
        case .ofDump(.changes, let name, nil):
            writer.writeHeading("Changes in \(name)", showsDays: false)
            try writer.writeChanges(name)
            return "Changes in \(name)"
        case .ofDump: throw DashboardError.notFound(path)
        }
    }

    private func footer(_ context: PageContext, _ standings: [StreamStanding]) -> PageFooter {
        PageFooter(
            standings: standings, directories: source.installation.directories,
            pipelines: source.installation.pipelines.path, failures: source.failures)
    }

    func failure(_ error: any Error, _ formToken: String?) -> Made {
        let status = Self.status(of: error)
        // A program that requests a file does not expect a page.
        if let format = DumpFormat(path: path) {
            return Made(
                status: status, contentType: format.errorContentType,
                body: format.error(explanation(of: error)))
        }
        return framed("Not shown", status: status, formToken) { html in
            html.element(
                "p", ["class": "warning", "role": "alert"], text: explanation(of: error))
            guard case DashboardError.busy = error else { return }
            let same = context().0.address(changing: [:])
            html.element("p") { $0.link("Try again", to: same) }
        }
    }

    /// A page that is not in the navigation.
    func framed(
        _ title: String, status: Int = 200, _ formToken: String?, _ content: (inout HTML) -> Void
    ) -> Made {
        let (context, standings) = context()
        let layout = PageLayout(
            context: context, current: nil, title: title, formToken: formToken,
            names: source.names(for: scope))
        return Made(
            status: status,
            body: layout.document(.month, footer(context, standings)) { html in
                html.element("h1", text: title)
                content(&html)
            })
    }

    private static func status(of error: any Error) -> Int {
        (error as? DashboardError)?.status ?? (CommandError(error)?.exitCode == 64 ? 400 : 500)
    }

    /// The explanation of an error for the reader. Files and stores belong to the whole instance, so readers of some
    /// campaigns see only errors of their request.
    private func explanation(of error: any Error) -> String {
        guard scope.isEmpty || error is DashboardError || Self.status(of: error) < 500 else {
            return
                "This page cannot be shown now. The operator of Weir can open the same address to see the reason."
        }
        return CommandError(error)?.explanation ?? "\(error)"
    }

    // MARK: Files, explanations and evidence

    /// Writes a page or a file piece by piece.
    ///
    /// - Parameter yield: throws `CancellationError` once the reader has gone.
    func stream(
        formToken: String?, isWanted: @escaping @Sendable () -> Bool,
        _ yield: (AnswerPart) throws -> Void
    ) {
        var hasBegun = false
        do {
            switch try allowedRoute() {
            case .ofDump(.evidence, let name, _):
                try streamEvidence(name, isWanted, &hasBegun, yield)
            case .ofDump(.explain, let name, nil):
                try streamExplanation(name, formToken, isWanted, &hasBegun, yield)
            case .ofDump(let kind, let name, let format?):
                try stream(kind, name, as: format, isWanted, &hasBegun, yield)
            default: throw DashboardError.notFound(path)
            }
        } catch is CancellationError {
            return
        } catch {
            try? end(with: error, of: route, formToken, hasBegun, yield)
        }
    }

    private func end(
        with error: any Error, of route: PageRoute?, _ formToken: String?, _ hasBegun: Bool,
        _ yield: (AnswerPart) throws -> Void
    ) throws {
        guard hasBegun else {
            let made = failure(error, formToken)
            try yield(.head(AnswerHead(status: made.status, contentType: made.contentType)))
            return try yield(.bytes(made.body))
        }
        switch route {
        case .ofDump(_, _, let format?):
            try yield(.bytes(format.incompleteEnd(explanation(of: error))))
            try yield(.cut)
        case .ofDump(.explain, _, nil):
            // The reader sees the error on the page, so the connection is not cut.
            var html = HTML()
            html.element(
                "p", ["class": "warning", "role": "alert"], text: explanation(of: error))
            try yield(.bytes(html.bytes))
        default: try yield(.cut)
        }
    }

    private func stream(
        _ kind: PageRoute.OfDump, _ name: String, as format: DumpFormat,
        _ isWanted: @escaping @Sendable () -> Bool, _ hasBegun: inout Bool,
        _ yield: (AnswerPart) throws -> Void
    ) throws {
        func write(_ bytes: [UInt8]) throws {
            if !hasBegun { try yield(.head(AnswerHead(contentType: format.contentType))) }
            hasBegun = true
            if !bytes.isEmpty { try yield(.bytes(bytes)) }
        }
        let (context, _) = context()
        switch kind {
        case .dump:
            let request = try context.request(name)
            try source.writeFile(of: request, as: format, while: isWanted, to: write)
        case .changes:
            let table = try ChangesPage(source, context, name).table
            try table.write(as: format, to: write)
        case .explain:
            try write(
                ExplanationPage(source, context, name).file(as: format, while: isWanted))
        case .evidence: throw DashboardError.notFound(path)
        }
    }

    private func streamExplanation(
        _ name: String, _ formToken: String?, _ isWanted: @escaping @Sendable () -> Bool,
        _ hasBegun: inout Bool, _ yield: (AnswerPart) throws -> Void
    ) throws {
        let (context, standings) = context()
        let page = try ExplanationPage(source, context, name)
        let layout = PageLayout(
            context: context, current: nil, title: page.title, formToken: formToken,
            names: source.names(for: scope))
        let (before, after) = layout.parts(.month, footer(context, standings))
        try page.write(isWanted: isWanted) { html in
            guard isWanted() else { throw CancellationError() }
            if !hasBegun { try yield(.head(AnswerHead())) }
            try yield(.bytes(hasBegun ? html.bytes : before.bytes + html.bytes))
            hasBegun = true
        }
        try yield(.bytes(after.bytes))
    }

    private func streamEvidence(
        _ name: String, _ isWanted: @escaping @Sendable () -> Bool, _ hasBegun: inout Bool,
        _ yield: (AnswerPart) throws -> Void
    ) throws {
        let (context, _) = context()
        let page = try ExplanationPage(source, context, name)
        let path = "\(NSTemporaryDirectory())/weir-evidence-\(UUID().uuidString).tar"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try page.writeEvidence(to: path, while: isWanted)
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw CommandError.failure("cannot read \(path)")
        }
        defer { try? file.close() }
        try yield(
            .head(AnswerHead(contentType: "application/x-tar", fileName: "evidence.tar")))
        hasBegun = true
        while let piece = try file.read(upToCount: 1 << 18), !piece.isEmpty {
            try yield(.bytes(Array(piece)))
        }
    }
}

extension PageWriter {
    /// A list of all reports, by name.
    mutating func writeReports() {
        write { html in
            html.element("dl") { html in
                let reports: [any Report] = allReports + DumpDescription.all
                for report in reports {
                    html.element("dt") { html in
                        html.link(
                            report.name,
                            to: ReportAddress(report.name, by: report.pageColumns).address)
                    }
                    html.element("dd", text: report.note)
                }
            }
        }
    }
}
