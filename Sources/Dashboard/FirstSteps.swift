import Program
import Reports
import Streams

// States in which a page has little to show, and what to do about them.

extension PageWriter {
    /// What to do first in an installation without any store.
    mutating func writeFirstSteps() {
        write { html in
            html.element("section", ["class": "empty first"]) { html in
                html.element("h2", text: "No data yet")
                html.element(
                    "p", text: "Weir has not folded any record. Choose one of these to begin:")
                html.element("ol", ["class": "list"]) { html in
                    for (title, command, guide) in Self.firstSteps {
                        html.element("li") { html in
                            html.element("b", text: title)
                            html.element("pre", text: command)
                            html.element("p", ["class": "note"], text: "Guide: \(guide)")
                        }
                    }
                }
                html.element("p") { html in
                    html.text("This page fills as soon as a worker has folded records. ")
                    html.link("Live records", to: PageAddress(DashboardPage.live.path))
                    html.text(" and ")
                    html.link("streams", to: PageAddress(DashboardPage.streams.path))
                    html.text(" show what has arrived.")
                }
            }
        }
    }

    private static let firstSteps = [
        (
            "Look at two months of example data", "weir demo --data demo",
            "docs/start/first-look.md"
        ),
        (
            "Start the collector, the workers and this dashboard", "weir up",
            "docs/guides/one-machine.md"
        ),
        (
            "Publish a first postback",
            "weir publish --topic postbacks --topics topics examples/postbacks.ndjson",
            "docs/start/first-postback-advertiser.md"
        ),
    ]

    /// Warns of data that ends long before the present, and of windows that are open.
    mutating func writeDataState() throws {
        guard let newest = context.newestMilliseconds else { return }
        let age = try source.installation.present.milliseconds - newest
        if age > StreamStanding.quietMilliseconds {
            paragraph(
                "The newest event is \(Age.text(milliseconds: age)) old (\(UTC.text(milliseconds: newest))). Later numbers are missing, not 0. Check that records arrive and that the workers run: weir lag.",
                class: "state")
        }
    }
}

extension StreamStanding {
    /// A page says that its newest event is older than this.
    static let quietMilliseconds: Int64 = 6 * 3_600_000

    /// Whether a stream that is not silent has had no records for a while. Costs are reported by day.
    func isQuiet(at instant: Int64) -> Bool {
        guard let newestMilliseconds, stream != CostsFold.streamName else { return false }
        return instant - newestMilliseconds > Self.quietMilliseconds
    }

    /// A stream without records for this long is silent.
    static let silentMilliseconds: Int64 = 24 * 3_600_000

    /// Whether records are overdue. Costs are reported by day, and later.
    func isSilent(at instant: Int64) -> Bool {
        guard let newestMilliseconds else { return records == 0 }
        let most =
            stream == CostsFold.streamName ? 3 * Self.silentMilliseconds : Self.silentMilliseconds
        return instant - newestMilliseconds > most
    }
}
