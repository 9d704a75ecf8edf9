import Foundation
import Program
import Reports
import Streams

/// The frame of every page: navigation, the bar of days and filters, and the newest records.
struct PageLayout {
    let context: PageContext
    let current: DashboardPage?
    let title: String
    /// The value that the sign-out form must send back; nil when no reader is signed in.
    let formToken: String?
    let names: PageNames
    /// The currencies of `rates.csv`.
    var currencies: [String] = []
    /// The source apps to choose from.
    var sourceApps: [String] = []
    /// Whether the page has days and filters.
    var hasBar = false
    /// The request of the address, on the page of a report.
    var report: ReportAddress?
    /// The filters that the content applied.
    var use = FilterUse()
    /// Seconds until the page reloads without a script; nil for never.
    var reloadSeconds: Int?

    /// Everything before the content. `writeEnd` closes the elements that are still open.
    func head() -> HTML {
        var html = HTML()
        html.beginDocument()
        html.element("head") { html in
            html.element("meta", ["charset": "utf-8"])
            html.element(
                "meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
            if let reloadSeconds {
                html.element("noscript") { html in
                    html.element("meta", ["http-equiv": "refresh", "content": "\(reloadSeconds)"])
                }
            }
            html.element("title", text: "\(title) · Weir")
            html.element("link", ["rel": "stylesheet", "href": "/dashboard.css"])
            html.element(
                "link", ["rel": "icon", "type": "image/svg+xml", "href": "/dashboard.svg"])
            // Not deferred, so that a chosen theme is set before the first paint.
            html.element("script", ["src": "/dashboard.js"])
        }
        return html
    }

    func header(_ period: PageContext.Period) -> HTML {
        var html = HTML()
        html.element("a", ["class": "skip", "href": "#content"], text: "Skip to content")
        html.element("header", ["class": "side"]) { html in
            html.element("a", ["class": "brand", "href": "/"], text: "Weir")
            html.element("details", ["class": "menu"]) { html in
                html.element("summary", text: current?.title ?? "Menu")
                html.element("nav", ["aria-label": "Pages"]) { html in
                    for group in DashboardPage.groups { links(group, to: &html) }
                    signOut(to: &html)
                }
            }
        }
        return html
    }

    private func links(_ group: (name: String, pages: [DashboardPage]), to html: inout HTML) {
        let pages = group.pages.filter { context.scope.isEmpty || !$0.isOfEverything }
        guard !pages.isEmpty else { return }
        html.element("p", text: group.name)
        html.element("ul") { html in
            for page in pages {
                html.element("li") { html in
                    html.element(
                        "a",
                        [
                            "href": context.address(page.path).text,
                            "aria-current": page == current ? "page" : nil,
                        ], text: page.title)
                }
            }
        }
    }

    private func signOut(to html: inout HTML) {
        guard let formToken else { return }
        html.element("form", ["action": "/sign-out", "method": "post"]) { html in
            html.element("input", ["type": "hidden", "name": "form", "value": formToken])
            html.element("button", ["type": "submit"], text: "Sign out")
        }
    }

    func document(
        _ period: PageContext.Period, _ footer: PageFooter, _ content: (inout HTML) -> Void
    ) -> [UInt8] {
        var (html, end) = parts(period, footer)
        content(&html)
        html.append(end)
        return html.bytes
    }

    /// The frame before and after a content that is written piece by piece.
    func parts(_ period: PageContext.Period, _ footer: PageFooter) -> (before: HTML, after: HTML) {
        var whole = head()
        whole.beginContent(header(period))
        for failure in footer.failures {
            // A reason may contain apps and campaigns outside of the reader's token.
            let reason = context.scope.isEmpty ? ": \(failure.fault)" : ""
            whole.element(
                "p", ["class": "warning", "role": "alert"],
                text: "\(failure.name) has failed, and its results are out of date\(reason)")
        }
        if hasBar {
            FilterBar(
                context: context, page: current, report: report, period: period, names: names,
                currencies: currencies, use: use, sourceApps: sourceApps
            ).write(to: &whole)
        }
        var after = HTML()
        after.endContent(footer.html(context))
        return (whole, after)
    }
}

/// The newest records and the configurations of a page.
struct PageFooter {
    let standings: [StreamStanding]
    let directories: [String]
    let pipelines: String
    /// The failed services of the process; every page warns of them.
    let failures: [ServiceFailure]

    /// The number of records dated ahead of the clock; nil without one.
    private var datedAhead: String? {
        let counts = standings.filter { $0.ahead > 0 }.map { "\($0.stream) \($0.ahead)" }
        guard !counts.isEmpty else { return nil }
        return
            "Records dated ahead of the clock: \(counts.joined(separator: ", ")). Periods ignore them and end at the newest other record."
    }

    func html(_ context: PageContext) -> HTML {
        var html = HTML()
        html.element("footer") { html in
            let newest = context.newestMilliseconds.map { UTC.text(milliseconds: $0) }
            html.element(
                "p",
                text: "Newest record: \(newest ?? "none yet"). \(context.timeZone.statement)")
            // Readers of some campaigns must not see totals of the whole instance.
            guard context.scope.isEmpty else { return }
            if let datedAhead { html.element("p", ["class": "warning"], text: datedAhead) }
            html.element("details") { html in
                html.element("summary", text: "Offsets, stores and configuration")
                html.element(
                    "p",
                    text: "Folded up to: \(standings.map(\.position).joined(separator: "; ")).")
                html.element(
                    "p",
                    text:
                        "Stores: \(directories.joined(separator: ", ")). Names and models: \(pipelines)."
                )
            }
        }
        return html
    }
}
