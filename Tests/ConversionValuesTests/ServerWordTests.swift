import ConversionModels
import Testing

@testable import ConversionValues

@Suite("What servers say of an install")
struct ServerWordTests {
    /// A device that has set what it was told, first called at 7 o'clock, asked until noon.
    private func device(hasThreeWindows: Bool = true) throws -> Device {
        var device = Device(firstCall: Time.noon - 5 * Time.hour, lastCall: nil)
        device.hasThreeWindows = hasThreeWindows
        device.totals = ["USD": 60]
        device.set(try device.ask("ride", at: Time.noon - Time.hour), at: Time.noon - Time.hour)
        _ = try device.ask("ride", .conversionValue, ["update_id": "d2"], at: Time.noon)
        return device
    }

    /// The parameters of a server that knows nothing but these.
    private func words(_ said: [String: String]) -> [String: String] {
        var words = ["conversion_value": "", "total_revenue_by_currency": ""]
        for window in 0...2 {
            words["p\(window)_coarse"] = ""
            words["p\(window)_window_lock"] = ""
        }
        return words.merging(said) { $1 }
    }

    @Test(
        "neither lower nor end it, whatever first call, value, revenue or lock they name",
        arguments: [
            ["total_revenue_by_currency": "{\"USD\":1}"],
            ["total_revenue_by_currency": "{\"EUR\":1}"], ["conversion_value": "0"],
            ["conversion_value": "0", "total_revenue_by_currency": "{}"],
            ["p0_window_lock": "true", "p1_window_lock": "true"],
        ], [ConversionRequest.Kind.launch, .event])
    func endNothing(_ said: [String: String], _ kind: ConversionRequest.Kind) throws {
        for later in [-40 * Time.day, 3 * Time.hour, 5 * Time.hour, 20 * Time.hour] {
            var silent = try device()
            var spoken = silent
            silent.totals = ["USD": 250]
            let expected = try silent.ask("ride", at: Time.noon + Time.hour)
            var server = Device(firstCall: silent.firstCall + later, lastCall: nil)
            server.hasThreeWindows = true
            server.state = spoken.state
            let answer = try server.ask("ride", kind, words(said), at: Time.noon + 1000)
            #expect(server.updates[0].startsInstall == false)
            #expect(server.updates[0].outcome != .stale)
            #expect(answer.fine ?? 63 >= spoken.fine ?? 0)
            spoken.state = server.state
            spoken.totals = ["USD": 250]
            #expect(try spoken.ask("ride", at: Time.noon + Time.hour) == expected)
            #expect(expected.fine ?? 0 > spoken.fine ?? 0)
        }
    }

    @Test("do not make a single window one of three while the device speaks of one")
    func windows() throws {
        var device = try device(hasThreeWindows: false)
        var server = Device(firstCall: device.firstCall, lastCall: nil)
        server.hasThreeWindows = true
        server.state = device.state
        _ = try server.ask("ride", .event, at: Time.noon + 1000)
        device.state = server.state
        _ = try device.ask("ride", at: Time.noon + 2000)
        #expect(device.updates.last?.windowing == .single)
    }

    @Test(
        "of the next install under the same id leave that to the device, which is told what any new one is",
        arguments: [0, 10])
    func nextInstall(_ revenue: Int) throws {
        let old = try device()
        var server = Device(firstCall: Time.noon + Time.hour, lastCall: nil)
        server.hasThreeWindows = true
        server.state = old.state
        let said = ["conversion_value": "0", "total_revenue_by_currency": "{\"USD\":\(revenue)}"]
        _ = try server.ask("ride", .event, words(said), at: Time.noon + Time.hour + 1000)
        #expect(server.updates[0].startsInstall == false)
        var next = Device(firstCall: Time.noon + Time.hour, lastCall: nil)
        next.hasThreeWindows = true
        next.fine = 0
        next.totals = ["USD": 0.6]
        var fresh = next
        next.state = server.state
        let now = Time.noon + Time.hour + 2000
        #expect(try next.ask("ride", at: now) == fresh.ask("ride", at: now))
        #expect(next.updates[0].startsInstall)
        #expect(next.state?.windows == fresh.state?.windows)
    }

    @Test(
        "begin an install where the windows of the known one had ended, and count from the first on"
    )
    func afterTheEnd() throws {
        let old = try device()
        let now = Time.noon + 40 * Time.day
        var again = Device(firstCall: now - 60_000, lastCall: nil)
        var fresh = again
        again.state = old.state
        for step in 0..<3 {
            let more = words(["conversion_value": "0", "update_id": "s\(step)"])
            let at = now + Int64(step)
            #expect(
                try again.ask("ride", .event, more, at: at)
                    == fresh.ask("ride", .event, more, at: at))
            #expect(again.updates[step].startsInstall == (step == 0))
            #expect(again.updates[step].isCounted)
        }
        #expect(again.state?.windows == fresh.state?.windows)
        #expect(again.state?.windows[0].eventCounts == ["ride": 3])
    }

    @Test("make the same state when it is made of the events as they stand in the topic")
    func rebuilt() throws {
        var served = try device()
        var rebuilt: InstallState?
        let now = Time.noon + 40 * Time.day
        served.firstCall = now - 60_000
        served.fine = 3
        served.totals = [:]
        _ = try served.ask("ride", .event, at: now)
        _ = try served.ask("ride", at: now + 1000)
        for update in served.updates {
            let read = try update.json().withUnsafeBytes { ConversionUpdate.read($0) }
            rebuilt = InstallState.after(try #require(read), rebuilt)
        }
        #expect(rebuilt == served.state)
    }
}
