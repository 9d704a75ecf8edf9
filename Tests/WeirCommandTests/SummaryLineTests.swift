import Testing

@testable import weir

@Suite("The line of weir up")
struct SummaryLineTests {
    private let full = SummaryLine(
        failed: [],
        streams: [
            ("bids", 12_345_678, 0), ("impressions", 999_999, 12), ("overlay-clicks", 12_345, 0),
            ("postbacks", 9999, 0), ("store-notifications", 7, 0), ("conversion-updates", 5, 0),
        ], deliveries: [("delivered", 100), ("dead", 2)])

    @Test("a log has names and numbers as they are")
    func log() {
        #expect(
            full.text == "bids 12345678  impressions 999999 (+12)  overlay-clicks 12345  "
                + "postbacks 9999  store-notifications 7  conversion-updates 5  delivered 100  dead 2"
        )
        #expect(SummaryLine().text == "no records yet")
    }

    @Test("a terminal has one line of it, and what matters most is first")
    func terminal() {
        #expect(
            full.text(columns: 120) == "bids 12.3M  impressions 999k (+12)  clicks 12.3k  "
                + "postbacks 9999  notifications 7  updates 5  delivered 100  dead 2")
        var failing = full
        failing.failed = ["weir-bids"]
        for columns in [1, 20, 79, 99] {
            #expect(failing.text(columns: columns).count == columns)
            #expect(failing.text(columns: columns).last == "…")
        }
        #expect(failing.text(columns: 40).hasPrefix("FAILED weir-bids  bids 12.3M"))
    }

    @Test("numbers are short, and never more than there is")
    func short() {
        let numbers: [(Int64, String)] = [
            (0, "0"), (9999, "9999"), (10_000, "10.0k"), (99_999, "99.9k"), (100_000, "100k"),
            (999_999, "999k"), (1_000_000, "1.0M"), (1_239_999, "1.23M"), (.max, "9223P"),
        ]
        for (number, text) in numbers { #expect(SummaryLine.short(number) == text) }
    }
}
