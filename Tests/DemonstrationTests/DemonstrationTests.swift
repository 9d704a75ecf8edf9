import Demonstration
import EventLog
import Testing

@Suite("The records of the demo")
struct DemonstrationTests {
    /// 2026-11-26.
    private static let end: Int64 = 1_795_651_200_000
    private static let dayMilliseconds: Int64 = 86_400_000

    private func days(_ count: Int, seed: UInt64 = 1, scale: Double = 0.1) throws -> [DemoDay] {
        var days: [DemoDay] = []
        let demo = try Demo(seed: seed, days: count, scale: scale, end: Self.end)
        try demo.forEachDay { days.append($0) }
        return days
    }

    /// Everything that is published, as texts to compare.
    private func records(_ days: [DemoDay]) -> [String] {
        days.flatMap { day in
            day.records.keys.sorted().flatMap { (day.records[$0] ?? []).map { "\($0)" } }
        }
    }

    @Test("the same seed and end give the same bytes, signatures included, and another seed others")
    func repeatable() throws {
        let first = records(try days(6))
        #expect(first == records(try days(6)))
        #expect(first != records(try days(6, seed: 2)))
        let demo = try Demo(days: 6, end: Self.end)
        let again = try Demo(days: 6, end: Self.end)
        #expect(demo.configuration.map(\.text) == again.configuration.map(\.text))
    }

    @Test("each record is of one of the days before the end, and of the day that it comes with")
    func dates() throws {
        let days = try days(20)
        #expect(days.count == 20)
        for (index, day) in days.enumerated() {
            let midnight = Self.end - Int64(20 - index) * Self.dayMilliseconds
            for (topic, records) in day.records {
                let times = records.compactMap(\.timestampMilliseconds)
                #expect(times.count == records.count && times == times.sorted(), "\(topic)")
                #expect(
                    times.allSatisfy { (midnight..<midnight + Self.dayMilliseconds).contains($0) },
                    "\(topic) of day \(index)")
            }
        }
    }

    @Test("on the day of the outage nothing arrives, and devices repeat it the day after")
    func outage() throws {
        let demo = try Demo(days: 20, scale: 0.1, end: Self.end)
        let outage = try #require(demo.outageDay)
        let days = try days(20)
        #expect(records([days[outage]]).isEmpty)
        #expect(records([days[outage - 1]]).count > 50)
        let postbacks = days.map { $0.records["postbacks"]?.count ?? 0 }
        #expect(postbacks[outage + 1] > postbacks[outage - 1] * 3 / 2)
        #expect(try Demo(days: 13, end: Self.end).outageDay == nil)
    }

    @Test("the scale multiplies what campaigns spend, and with it the records")
    func scale() throws {
        let small = records(try days(4, scale: 0.2)).count
        let large = records(try days(4, scale: 0.8)).count
        #expect((3.4...4.6).contains(Double(large) / Double(small)), "\(large) of \(small)")
    }
}
