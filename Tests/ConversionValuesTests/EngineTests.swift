import ConversionModels
import Streams
import Testing

@testable import ConversionValues

@Suite("What an install is told")
struct EngineTests {
    @Test("revenue and the day make the value that the model decodes to them")
    func revenueAndDay() throws {
        var device = Device()
        #expect(try device.ask(at: Time.noon).fine == 0)
        device.totals = ["USD": 4.99]
        let answer = try device.ask("ride", at: Time.noon + 10_000)
        #expect(answer == ConversionAnswer(fine: 5))
        device.set(answer, at: Time.noon + 10_000)
        let next = try device.ask(at: Time.noon + Time.day - 1)
        #expect(next.fine == nil)
        #expect(next.reason == "the value does not change")
        device.lastCall = Time.noon + 10_000
        #expect(try device.ask(at: Time.noon + Time.day).fine == 1 << 4 | 5)
        #expect(device.updates.map(\.outcome) == [.told, .told, .unchanged, .told])
    }

    @Test("what a client added up in single precision is what it meant")
    func singlePrecision() throws {
        for amount in [0.99, 4.99, 19.99, 74.99, 199.99] {
            var device = Device()
            device.totals = ["USD": Double(Float(amount))]
            let value = try #require(device.ask(at: Time.noon).fine)
            let version = try #require(
                Shipped.models().first { $0.app == Shipped.rides }?.versions.last)
            let bounds = version.decode(fine: value)
            #expect(bounds.first?.revenueMinMicros == Int64((amount * 1_000_000).rounded()))
        }
    }

    @Test("a repeated request is told the same, and counts neither its event nor its revenue again")
    func repeated() throws {
        var device = Device(app: Shipped.meals)
        device.totals = ["GBP": 7]
        let first = try device.ask("order", at: Time.noon)
        let again = try device.ask("order", at: Time.noon + 60_000)
        #expect(first == again)
        #expect(device.updates[0].id == device.updates[1].id)
        #expect(device.state?.windows[0].eventCounts == ["order": 1])
        #expect(device.state?.windows[0].revenueMicros == ["GBP": ["order": 7_000_000]])
        // Two minutes after the last repetition it is another event.
        _ = try device.ask("order", at: Time.noon + 180_000)
        #expect(device.state?.windows[0].eventCounts == ["order": 2])
        #expect(device.updates[2].id != device.updates[0].id)
        #expect(device.state?.totalRevenueMicros == ["GBP": 7_000_000])
    }

    @Test("a client's own update id is one update however late it comes, and from wherever")
    func ownID() throws {
        var device = Device(app: Shipped.puzzle)
        let id = ["update_id": "u1"]
        _ = try device.ask("level_completed", .event, id, at: Time.noon)
        _ = try device.ask("level_completed", .conversionValue, id, at: Time.noon + Time.hour)
        #expect(device.state?.windows[0].eventCounts == ["level_completed": 1])
        _ = try device.ask(
            "level_completed", .conversionValue, ["update_id": "u2"], at: Time.noon + Time.hour)
        #expect(device.state?.windows[0].eventCounts == ["level_completed": 2])
        #expect(device.updates.map(\.id) == ["u1", "u1", "u2"])
    }

    @Test("the highest total of a currency counts, in whatever order totals come")
    func highestTotal() throws {
        var device = Device()
        for total in [3.0, 12, 7, 12, 0] {
            device.totals = ["USD": total]
            _ = try device.ask("ride", at: Time.noon)
        }
        #expect(device.state?.totalRevenueMicros == ["USD": 12_000_000])
        #expect(device.state?.windows[0].revenueMicros["USD"]?.values.reduce(0, +) == 12_000_000)
    }

    @Test("revenue in another currency than the model's is not converted, and that is said")
    func otherCurrency() throws {
        var device = Device()
        device.totals = ["EUR": 50]
        let answer = try device.ask(at: Time.noon)
        #expect(answer.fine == 0)
        #expect(
            answer.reason
                == "revenue in EUR does not count, because the model uses another currency")
        #expect(device.updates[0].uncountedCurrencies == ["EUR"])
    }

    @Test("what a server says of an install that asks itself counts no activity")
    func serversBeside() throws {
        var device = Device(app: Shipped.puzzle)
        _ = try device.ask(nil, .launch, at: Time.noon)
        _ = try device.ask("level_completed", .event, at: Time.noon)
        #expect(device.state?.windows[0].eventCounts == ["__SESSION__": 1, "level_completed": 1])
        _ = try device.ask("level_completed", at: Time.noon)
        _ = try device.ask("level_completed", .event, at: Time.noon + Time.hour)
        #expect(device.state?.windows[0].eventCounts["level_completed"] == 2)
        #expect(device.updates.last?.isCounted == false)
    }

    @Test(
        "a device's own value is a floor: nothing below it is told, and what it was told before is")
    func floor() throws {
        var device = Device()
        device.totals = ["USD": 4.99]
        device.fine = 9
        #expect(try device.ask(at: Time.noon).fine == nil)
        device.fine = 2
        #expect(try device.ask(at: Time.noon).fine == 9)
        device.fine = nil
        #expect(try device.ask(at: Time.noon).fine == 9)
    }

    @Test("flags are set by their events, and counts beside them are the other times")
    func flags() throws {
        var device = Device(app: Shipped.meals)
        let value = try #require(device.ask("trial_started", at: Time.noon).fine)
        #expect(value == 1 << 5)
        let more = try #require(device.ask("registration", at: Time.noon).fine)
        #expect(more == 1 << 5 | 1 << 3)
    }

    @Test("without a model in effect nothing is told")
    func noModel() throws {
        var device = Device(app: 5)
        #expect(
            try device.ask(at: Time.noon)
                == ConversionAnswer(reason: "no conversion model was in effect for this app"))
        #expect(device.updates[0].outcome == .noModel)
    }
}
