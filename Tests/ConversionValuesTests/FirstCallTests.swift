import ConversionModels
import TestKit
import Testing

@testable import ConversionValues

@Suite("First calls, whatever clocks and servers say")
struct FirstCallTests {
    @Test("an earlier one ends no install, and what it was told and did stays known")
    func earlier() throws {
        var device = Device(app: Shipped.puzzle, firstCall: Time.noon - 60_000, lastCall: nil)
        device.hasThreeWindows = true
        for step in 0..<10 {
            let id = ["update_id": "a\(step)"]
            _ = try device.ask("level_completed", .conversionValue, id, at: Time.noon)
        }
        let told = try #require(device.updates.last?.fine?.told?.value)
        var astray = device
        astray.firstCall = Time.noon - 36 * Time.day
        #expect(try astray.ask(at: Time.noon + 1000).fine == told)
        device.state = astray.state
        let again = try device.ask(
            "level_completed", .conversionValue, ["update_id": "a9"], at: Time.noon + 2000)
        #expect(again.fine == told)
        #expect(device.state?.windows[0].eventCounts["level_completed"] == 10)
        #expect(device.updates.last?.startsInstall == false)
    }

    @Test("the first that is reported is what windows count from, and no earlier one")
    func earlierInWindow() throws {
        var device = Device(app: Shipped.puzzle, firstCall: 0, lastCall: nil)
        device.hasThreeWindows = true
        _ = try device.ask("level_completed", at: Time.noon)
        device.firstCall = Time.noon - Time.day
        _ = try device.ask("level_completed", at: Time.noon + 1000)
        #expect(device.state?.firstCallMilliseconds == Time.noon - Time.day)
        device.firstCall = Time.noon - Time.day - Time.hour
        _ = try device.ask("level_completed", at: Time.noon + 2000)
        #expect(device.state?.firstCallMilliseconds == Time.noon - Time.day)
        _ = try device.ask("level_completed", at: Time.noon + Time.day)
        #expect(device.updates.last?.sequenceIndex == 1)
    }

    @Test(
        "early and late, absent and present: within the windows of an install nothing falls or is forgotten",
        arguments: [Shipped.rides, Shipped.puzzle, Shipped.meals], 0..<12 as Range<UInt64>)
    func neverLower(_ app: Int64, _ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var device = Device(app: app, lastCall: nil)
        device.hasThreeWindows = seed.isMultiple(of: 2)
        let model = try #require(try Shipped.models().first { $0.app == app })
        let events = ["ride", "order", "registration", "purchase", "level_completed"]
        var now = Time.noon
        var highest = -1
        var counted: Int64 = 0
        let end = Time.noon + (device.hasThreeWindows ? 30 : 1) * Time.day - Time.hour
        while now < end {
            if Bool.random(using: &random) {
                device.totals[model.versions[0].currency, default: 0] += Double(
                    Int.random(in: 0...20, using: &random))
            }
            device.firstCall =
                [
                    Time.noon, Time.noon, 0,
                    now - Int64.random(in: 0...60, using: &random) * Time.day,
                    now - Int64.random(in: 0...48, using: &random) * Time.hour,
                    now + 20 * Time.hour,
                ].randomElement(using: &random).map { $0 / 1000 * 1000 } ?? 0
            let before = device.state
            if before == nil { device.firstCall = Time.noon }
            let event = try #require(events.randomElement(using: &random))
            let answer: ConversionAnswer
            if Int.random(in: 0..<4, using: &random) == 0 {
                // A server knows neither the value nor the revenue.
                let nothing = ["conversion_value": "", "total_revenue_by_currency": ""]
                answer = try device.ask(event, .event, nothing, at: now)
            } else {
                answer = try device.ask(event, at: now)
            }
            let state = try #require(device.state)
            if before != nil { #expect(device.updates.last?.startsInstall == false) }
            #expect(device.updates.last?.outcome != .stale)
            #expect(device.updates.last?.sequenceIndex != nil, "nothing ended")
            if let fine = answer.fine {
                #expect(fine >= highest)
                highest = fine
            }
            let sum = state.windows.reduce(0) { $0 + $1.eventCounts.values.reduce(0, +) }
            #expect(sum >= counted)
            counted = sum
            for (currency, micros) in before?.totalRevenueMicros ?? [:] {
                #expect(state.totalRevenueMicros[currency, default: 0] >= micros)
            }
            if Bool.random(using: &random), let fine = answer.fine { device.fine = fine }
            now +=
                Int64.random(in: 0...(device.hasThreeWindows ? 12 : 1), using: &random)
                * Time.hour + 1
        }
        #expect(counted > 0)
    }
}
