import ConversionModels
import Streams
import Testing

@testable import ConversionValues

@Suite("Conversion windows")
struct WindowTests {
    @Test("up to 3.0 the window ends 24 hours after the last call, to the millisecond")
    func single() throws {
        for (delay, isOpen) in [(Time.day - 1, true), (Time.day, false)] {
            var device = Device()
            device.lastCall = Time.noon + Time.hour
            let answer = try device.ask(at: Time.noon + Time.hour + delay)
            #expect((answer.fine != nil) == isOpen)
            #expect(device.updates[0].outcome == (isOpen ? .told : .ended))
            #expect(device.updates[0].isCounted == isOpen)
        }
    }

    @Test("a call that comes when the timer had ended does not start it again")
    func endedTimer() throws {
        var device = Device()
        _ = try device.ask(at: Time.noon)
        device.lastCall = Time.noon + 2 * Time.day
        #expect(try device.ask("ride", at: Time.noon + 2 * Time.day).fine == nil)
        #expect(device.updates[1].outcome == .ended)
    }

    @Test("where calls are not reported, being told counts as one")
    func unreportedCalls() throws {
        var device = Device(app: Shipped.puzzle)
        device.lastCall = nil
        let late = Time.noon + 23 * Time.hour
        #expect(try device.ask("registration", .event, at: late).fine == 1)
        #expect(try device.ask("tutorial_completed", .event, at: late + Time.day - 1).fine == 2)
        #expect(try device.ask("purchase", .event, at: late + 2 * Time.day - 1).fine == nil)
    }

    @Test(
        "the three windows end 2, 7 and 35 days after the first call, to the millisecond",
        arguments: [
            (0, 0), (2 * Time.day - 1, 0), (2 * Time.day, 1), (7 * Time.day - 1, 1),
            (7 * Time.day, 2), (35 * Time.day - 1, 2), (35 * Time.day, nil),
        ] as [(Int64, Int?)])
    func three(_ delay: Int64, _ index: Int?) throws {
        var device = Device(app: Shipped.puzzle)
        device.hasThreeWindows = true
        let answer = try device.ask("level_completed", at: Time.noon + delay)
        #expect(device.updates[0].sequenceIndex == index)
        #expect((answer.fine == nil) == (index == nil))
        #expect(answer.coarse == (index == nil ? nil : .low) || index == 0)
        #expect(device.updates[0].fine?.told == nil || index == 0)
        if let index { #expect(device.state?.windows[index].eventCounts == ["level_completed": 1]) }
    }

    @Test("each later window counts what happened within it, and has a coarse value only")
    func laterWindows() throws {
        var device = Device(app: Shipped.puzzle)
        device.hasThreeWindows = true
        let first = try device.ask("tutorial_completed", at: Time.noon)
        #expect(first == ConversionAnswer(fine: 2, coarse: .medium, locksWindow: false))
        device.set(first, at: Time.noon)
        let second = try device.ask("level_completed", at: Time.noon + 3 * Time.day)
        // The fine value that the call takes is the one that stands.
        #expect(second == ConversionAnswer(fine: 2, coarse: .low, locksWindow: false))
        device.set(second, at: Time.noon + 3 * Time.day)
        for step in 1..<10 {
            _ = try device.ask(
                "level_completed", .conversionValue, ["update_id": "\(step)"],
                at: Time.noon + 3 * Time.day)
        }
        #expect(device.updates.last?.coarse?.told == ModelledValue(.medium, model: "puzzle-1"))
        #expect(device.state?.windows[0].coarse.told?.value == .medium)
    }

    @Test("a window is locked once nothing in it can rise, and then nothing more is told")
    func lock() throws {
        var device = Device(app: Shipped.puzzle)
        device.hasThreeWindows = true
        device.totals = ["EUR": 59.99]
        // The model's coarse value of a purchase lacks: fine is at its top, coarse is not.
        let high = try device.ask("subscription", at: Time.noon)
        #expect(high.fine == 21)
        let both = try device.ask("purchase", at: Time.noon + 1000)
        #expect(both == ConversionAnswer(fine: 21, coarse: .high, locksWindow: true))
        // Told again as long as the install does not say that it has done so.
        #expect(try device.ask(at: Time.noon + 2000).locksWindow == true)
        device.set(both, at: Time.noon + 2000)
        let after = try device.ask("registration", at: Time.noon + 3000)
        #expect(after == ConversionAnswer(reason: "the conversion window is locked"))
        #expect(device.updates.last?.outcome == .locked)
    }

    @Test(
        "a first call behind the end is another install under the same id; older requests are stale"
    )
    func reinstall() throws {
        var device = Device()
        device.hasThreeWindows = true
        device.totals = ["USD": 100]
        device.set(try device.ask("ride", at: Time.noon), at: Time.noon)
        var again = Device(firstCall: Time.noon + 35 * Time.day, lastCall: nil)
        again.hasThreeWindows = true
        again.state = device.state
        let answer = try again.ask(at: Time.noon + 35 * Time.day)
        #expect(answer.fine == 0)
        #expect(again.updates[0].startsInstall)
        var old = device
        old.state = again.state
        #expect(
            try old.ask("ride", at: Time.noon + 36 * Time.day)
                == ConversionAnswer(
                    reason: "the request belongs to an earlier install with this idfv"))
        #expect(old.state?.windows == again.state?.windows)
        #expect(old.state?.firstCallMilliseconds == again.state?.firstCallMilliseconds)
    }

    @Test("up to 3.0 the version in effect now encodes, in a window the one in effect at its end")
    func versions() throws {
        // rides-2026-03 begins at 2026-03-01T06:00:00Z.
        let start: Int64 = 1_772_344_800_000
        for (now, three, model) in [
            (start - 1, false, "rides-2026-01"), (start, false, "rides-2026-03"),
            (start - 2 * Time.day - 1, true, "rides-2026-01"),
            (start - 2 * Time.day, true, "rides-2026-03"),
        ] {
            var device = Device(firstCall: now, lastCall: now)
            device.hasThreeWindows = three
            // Whole seconds are all that clients report.
            device.firstCall = now / 1000 * 1000
            _ = try device.ask(at: now)
            #expect(device.updates[0].model == model, "\(now) \(three)")
        }
    }
}
