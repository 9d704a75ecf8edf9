import Foundation
import Program
import Reports
import Streams

/// The frame of every page: navigation, the current selection, and the newest records.
struct PageLayout {
    let context: PageContext
    let current: DashboardPage?
    let title: String
    /// The value that the sign-out form must send back; nil when no reader is signed in.
    let formToken: String?
    /// Seconds until the page reloads; nil for never.
    var refreshSeconds: Int?

    /// Everything before the content. `writeEnd` closes the elements that are still open.
    func head() -> HTML {
        var html = HTML()
        html.beginDocument()
        html.element("head") { html in
            html.element("meta", ["charset": "utf-8"])
            html.element(
                "meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
            if let refreshSeconds {
                html.element("meta", ["http-equiv": "refresh", "content": "\(refreshSeconds)"])
            }
            html.element("title", text: "\(title) · Weir")
            html.element("link", ["rel": "stylesheet", "href": "/dashboard.css"])
        }
        return html
    }

    func header(_ period: PageContext.Period) -> HTML {
        var html = HTML()
        html.element("a", ["class": "skip", "href": "#content"], text: "Skip to content")
        html.element("header") { html in
            html.element("nav", ["aria-label": "Pages"]) { html in
                html.element("strong", text: "Weir")
                for page in DashboardPage.allCases
                where context.scope.isEmpty || !page.isOfEverything {
                    html.element(
                        "a",
                        [
                            "href": context.address(page.path).text,
                            "aria-current": page == current ? "page" : nil,
                        ], text: page.title)
                }
                html.link("All dumps", to: context.address("/dumps"))
                if let formToken {
                    html.element("form", ["action": "/sign-out", "method": "post"]) { html in
                        html.element(
                            "input", ["type": "hidden", "name": "form", "value": formToken])
                        html.element("button", ["type": "submit"], text: "Sign out")
                    }
                }
            }
            if current != nil || context.path == "/campaign" { filters(period, to: &html) }
        }
        return html
    }

    private func filters(_ period: PageContext.Period, to html: inout HTML) {
        let isOfDates = context.period(default: period) == nil
        html.element(
            "form", ["method": "get", "class": "filters", "aria-label": "Days and filters"]
        ) { html in
            html.element("label") { html in
                html.text("Days ")
                html.element("select", ["name": PageContext.period]) { html in
                    if isOfDates {
                        html.element("option", ["value": "", "selected": ""], text: "dates")
                    }
                    for choice in PageContext.Period.allCases {
                        html.element(
                            "option",
                            [
                                "value": choice.rawValue,
                                "selected": context.period(default: period) == choice ? "" : nil,
                            ], text: choice.name)
                    }
                }
            }
            html.element(
                "input",
                [
                    "type": "hidden", "name": PageContext.shownPeriod,
                    "value": context.period(default: period)?.rawValue ?? "",
                ])
            for name in ["since", "until"] {
                field(
                    name == "since" ? "from" : "before", name, "date",
                    value: isOfDates ? context.parameters[name] : nil, to: &html)
            }
            for name in PageContext.filters {
                if let fixed = context.scope.first(where: { $0.column == name }) {
                    html.element("span", ["class": "fixed"], text: "\(name): \(fixed.value)")
                } else {
                    field(
                        ShownValue.heading(name), name, "text", value: context.parameters[name],
                        to: &html)
                }
            }
            html.element("button", ["type": "submit"], text: "Show")
        }
    }

    private func field(
        _ label: String, _ name: String, _ kind: String, value: String?, to html: inout HTML
    ) {
        html.element("label") { html in
            html.text("\(label) ")
            html.element(
                "input",
                [
                    "type": kind, "name": name, "value": value ?? "",
                    "size": kind == "text" ? "10" : nil,
                ])
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
                text: "Newest record: \(newest ?? "none yet"). All times are UTC.")
            // Readers of some campaigns must not see totals of the whole instance.
            guard context.scope.isEmpty else { return }
            if let datedAhead { html.element("p", ["class": "warning"], text: datedAhead) }
            html.element(
                "p",
                text: "Folded up to: \(standings.map(\.place).joined(separator: "; ")).")
            html.element(
                "p",
                text:
                    "Stores: \(directories.joined(separator: ", ")). Names and models: \(pipelines)."
            )
        }
        return html
    }
}
