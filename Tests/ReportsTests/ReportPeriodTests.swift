import Reports
import Streams
import Testing

@Suite("The period of a report")
struct ReportPeriodTests {
    /// The bounds at 2026-03-05T10:20:30Z, a Thursday.
    private func bounds(_ text: String) throws -> [String] {
        let instant = try #require(UTC.milliseconds(text: "2026-03-05T10:20:30Z"))
        let period = try #require(ReportPeriod(text), "\(text)")
        let (since, until) = period.bounds(at: instant)
        return [since, until].map { UTC.text(milliseconds: $0) }
    }

    @Test(
        "it has whole units before that of the newest record, or that one as far as it goes",
        arguments: [
            ("last 7 days", "2026-02-26T00:00:00Z", "2026-03-05T00:00:00Z"),
            ("last day", "2026-03-04T00:00:00Z", "2026-03-05T00:00:00Z"),
            ("last 24 hours", "2026-03-04T10:00:00Z", "2026-03-05T10:00:00Z"),
            ("last 2 weeks", "2026-02-16T00:00:00Z", "2026-03-02T00:00:00Z"),
            ("last month", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"),
            ("last 3 months", "2025-12-01T00:00:00Z", "2026-03-01T00:00:00Z"),
            ("this week", "2026-03-02T00:00:00Z", "2026-03-05T10:20:30.001Z"),
            ("7 days to date", "2026-02-27T00:00:00Z", "2026-03-05T10:20:30.001Z"),
            ("1 day to date", "2026-03-05T00:00:00Z", "2026-03-05T10:20:30.001Z"),
            ("2 months to date", "2026-02-01T00:00:00Z", "2026-03-05T10:20:30.001Z"),
            ("this month", "2026-03-01T00:00:00Z", "2026-03-05T10:20:30.001Z"),
        ])
    func bounds(_ text: String, since: String, until: String) throws {
        #expect(try bounds(text) == [since, until])
    }

    @Test("any other text is none")
    func faults() {
        for text in [
            "", "7 days", "last 0 days", "this 2 days", "last 7 years", "last -1 day",
            "0 days to date",
        ] {
            #expect(ReportPeriod(text) == nil, "\(text)")
        }
    }
}
