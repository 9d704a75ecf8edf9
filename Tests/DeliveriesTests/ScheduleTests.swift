import Foundation
import TestKit
import Testing

@testable import Deliveries
@testable import HTTPClient

@Suite("The schedule of attempts", .serialized)
struct ScheduleTests {
    /// As the documentation publishes it, in seconds.
    static let published: [Int64] = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]

    @Test(
        "what pages and alerts say of the schedule is what it adds up to",
        arguments: [
            "docs/reference/partner-delivery.md", "docs/start/first-postback-network.md",
            "ops/prometheus/alerts.yml", "ops/prometheus/alerts.test.yml",
            "ops/runbooks/partner-away.md", "ops/grafana/dashboards/weir.json",
        ])
    func words(_ page: String) throws {
        let text = try Repository.text(page)
        let line = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(
            RetrySchedule.explanation == "10 attempts over 3 days and 3 hours, plus up to 10 %"
        )
        #expect(line.contains(RetrySchedule.explanation))
        #expect(!line.contains("four days"))
    }

    @Test(
        "a partner that fails is asked ten times, with the published pauses and up to a tenth more",
        arguments: ["500", "503", "429", "hang up", "garbage", "no status"])
    func failing(_ way: String) throws {
        let reaction: ScriptedPartner.Reaction =
            switch way {
            case "hang up": .hangUp
            case "garbage": .bytes("\u{1}\u{2}\u{3} what is this\r\n\r\n")
            case "no status": .bytes("HTTP/1.1 abc\r\n\r\n")
            default: .answer(Int(way) ?? 500)
            }
        let clock = ManualClock()
        let partner = try ScriptedPartner(clock: clock) { _, _ in reaction }
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)/a\nallow_private: true"]
        )
        clock.set(workspace.clock.nowMilliseconds)
        try workspace.ingest(Documents.install())
        for _ in 0..<20 {
            try workspace.sendDue()
            guard let next = try workspace.dispatcher.nextDueMilliseconds() else { break }
            workspace.clock.set(next)
            clock.set(next)
        }
        try expectPublished(partner.requests.map(\.atMilliseconds))
        let keys = Set(partner.requests.map { $0.headers["idempotency-key"] })
        #expect(keys == ["\(Documents.id):1"])
        let delivery = try workspace.delivery()
        #expect(delivery.state == .dead)
        #expect(delivery.reason.hasPrefix("exhausted: 10 attempts"), "\(delivery.reason)")
        #expect(try workspace.store.history(of: Documents.id).first?.attempts.count == 10)
    }

    @Test("a partner that is down is asked by the same schedule")
    func down() throws {
        let workspace = try DeliveryWorkspace([
            "acme": "url: http://127.0.0.1:\(ScriptedPartner.closedPort)/\nallow_private: true"
        ])
        try workspace.ingest(Documents.install())
        try workspace.sendAll()
        let attempts = try #require(try workspace.store.history(of: Documents.id).first?.attempts)
        try expectPublished(attempts.map(\.startedMilliseconds))
        #expect(attempts.allSatisfy { $0.fault?.hasPrefix("connection: ") == true })
        #expect(try workspace.delivery().state == .dead)
    }

    @Test("a partner that does not answer in time is asked again, and what it says at last counts")
    func slow() throws {
        let partner = try ScriptedPartner { _, number in number == 0 ? .silence : .answer(204) }
        let workspace = try DeliveryWorkspace([
            "acme": "url: \(partner.url)\nallow_private: true\ntimeout_seconds: 1"
        ])
        try workspace.ingest(Documents.install())
        try workspace.sendAll()
        #expect(try workspace.delivery().state == .delivered)
        let attempts = try #require(try workspace.store.history(of: Documents.id).first?.attempts)
        // A machine that stands still is asked again more than once.
        #expect(attempts.count > 1)
        #expect(attempts.last?.status == 204)
        #expect(attempts.dropLast().allSatisfy { $0.fault == "timeout: no answer in time" })
    }

    @Test(
        "Retry-After is kept when it is longer than the schedule's pause, up to a day",
        arguments: [
            ("120", 120_000), ("0", nil), ("1", nil), ("99999999999999999999", 86_400_000),
            ("Tue, 21 Nov 2023 00:01:00 GMT", 60_000), ("Tue, 21 Nov 2023 00:00:01 GMT", nil),
            ("Tuesday, 21-Nov-23 00:02:00 GMT", 120_000), ("Tue Nov 21 00:03:00 2023", 180_000),
            ("soon", nil), ("-5", nil),
        ] as [(String, Int64?)])
    func retryAfter(text: String, pause: Int64?) throws {
        let partner = try ScriptedPartner { _, number in
            number == 0
                ? .answer(429, ["Retry-After: \(text)", "Date: Tue, 21 Nov 2023 00:00:00 GMT"])
                : .answer(200)
        }
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)\nallow_private: true"])
        try workspace.ingest(Documents.install())
        let start = workspace.clock.nowMilliseconds
        try workspace.sendDue()
        let next = try #require(try workspace.dispatcher.nextDueMilliseconds())
        if let pause {
            #expect(next - start == pause)
        } else {
            #expect((5000..<5500).contains(next - start))
        }
    }

    @Test(
        "Retry-After is read in each of the three forms of a date, and a year of two digits is at most 50 years ahead",
        arguments: [
            ("Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:00 GMT", 37_000),
            ("Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:00 GMT", 37_000),
            ("Sun Nov 13 08:49:37 1994", "Sunday, 13-Nov-94 08:49:00 GMT", 37_000),
            ("Friday, 01-Jan-00 00:00:10 GMT", "Thu, 31 Dec 2099 23:59:50 GMT", 20_000),
            // 2076 lies less than 50 years ahead, 2077 does not: it is 1977.
            ("Tuesday, 01-Sep-76 00:00:00 GMT", "Thu, 26 Nov 2026 00:00:00 GMT", 1_570_492_800_000),
            ("Friday, 31-Dec-77 00:00:00 GMT", "Thu, 26 Nov 2026 00:00:00 GMT", 0),
            ("Sun, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:00 GMT", nil),
            ("Sunday, 06-Nov-1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:00 GMT", nil),
            ("Sun Nov 6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:00 GMT", nil),
        ] as [(String, String, Int64?)])
    func datesOfRetryAfter(text: String, date: String, pause: Int64?) {
        #expect(RetryAfter.milliseconds(text, date: date, nowSeconds: 1_795_651_200) == pause)
    }

    @Test(
        "an answer that another attempt would not change is the end, with its reason",
        arguments: [
            (400, "refused: status 400"), (404, "refused: status 404"),
            (301, "redirect: status 301, which is not followed"),
            (308, "redirect: status 308, which is not followed"),
            (410, "gone: status 410, the partner is disabled"),
        ])
    func refused(status: Int, reason: String) throws {
        let elsewhere = try ScriptedPartner()
        let partner = try ScriptedPartner { _, _ in .answer(status, ["Location: \(elsewhere.url)/"])
        }
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)\nallow_private: true"])
        try workspace.ingest(Documents.install())
        try workspace.sendAll()
        let delivery = try workspace.delivery()
        #expect(delivery.state == .dead)
        #expect(delivery.reason == reason)
        #expect(partner.requests.count == 1)
        #expect(elsewhere.requests.isEmpty)
    }

    @Test("the status counts, whatever becomes of the body")
    func body() throws {
        let partner = try ScriptedPartner { _, _ in .endless(200) }
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)\nallow_private: true"])
        try workspace.ingest(Documents.install())
        try workspace.sendDue()
        #expect(try workspace.delivery().state == .delivered)
    }

    @Test("how much longer a pause is follows from the delivery and the attempt alone")
    func jitter() {
        var shares: Set<Int64> = []
        for number in 0..<200 {
            for (index, seconds) in Self.published.enumerated() {
                let pause = RetrySchedule.pauseMilliseconds(
                    afterAttempt: index + 1, key: "\(number):1")
                #expect(
                    pause
                        == RetrySchedule.pauseMilliseconds(
                            afterAttempt: index + 1, key: "\(number):1"))
                let base = seconds * 1000
                #expect((base..<base + base / 10).contains(pause ?? 0))
                shares.insert(((pause ?? 0) - base) * 100 / base)
            }
        }
        #expect(shares == Set(0..<10))
        #expect(RetrySchedule.pauseMilliseconds(afterAttempt: 10, key: "x") == nil)
    }

    private func expectPublished(_ times: [Int64]) throws {
        try #require(times.count == 10)
        for (index, seconds) in Self.published.enumerated() {
            let pause = times[index + 1] - times[index]
            let base = seconds * 1000
            #expect((base..<base + base / 10).contains(pause), "pause \(index + 1): \(pause)")
        }
    }
}
