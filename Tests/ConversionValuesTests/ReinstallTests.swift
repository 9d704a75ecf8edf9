import ConversionModels
import EventLog
import Foundation
import Testing

@testable import ConversionValues

@Suite("An app that is installed again under the same vendor id")
struct ReinstallTests {
    /// An install that spent much and was told a high value.
    private func old(_ hasThreeWindows: Bool, firstCall: Int64) throws -> Device {
        var device = Device(firstCall: firstCall, lastCall: firstCall)
        device.hasThreeWindows = hasThreeWindows
        device.totals = ["USD": 60]
        _ = try device.ask("ride", at: firstCall + Time.hour)
        return device
    }

    @Test(
        "has windows and totals of its own, and is told what any new install is",
        arguments: [
            (false, 20 * Time.hour), (true, 20 * Time.hour), (true, Time.day),
            (true, 10 * Time.day),
        ])
    func startsOver(_ hasThreeWindows: Bool, _ after: Int64) throws {
        let old = try old(hasThreeWindows, firstCall: Time.noon - after)
        var again = Device(firstCall: Time.noon - 60_000, lastCall: Time.noon - 60_000)
        again.hasThreeWindows = hasThreeWindows
        var fresh = again
        again.fine = 0
        fresh.fine = 0
        again.state = old.state
        for (step, total) in [0, 0.6, 5, 20, 59].enumerated() {
            let now = Time.noon + Int64(step) * 1000
            again.totals = ["USD": total]
            fresh.totals = ["USD": total]
            #expect(try again.ask("ride", at: now) == fresh.ask("ride", at: now))
            #expect(again.updates[step].startsInstall == (step == 0))
        }
        #expect(again.state?.totalRevenueMicros == ["USD": 59_000_000])
        #expect(again.state?.windows == fresh.state?.windows)
        #expect(again.updates[0].fine?.toldBefore == nil, "what the old one was told stays its own")
        // Late words of the old install change nothing in the new one.
        var late = old
        late.state = again.state
        late.totals = ["USD": 90]
        let answer = try late.ask("ride", at: Time.noon + Time.hour)
        #expect(answer.reason == "the request belongs to an earlier install with this idfv")
        #expect(late.state?.totalRevenueMicros == again.state?.totalRevenueMicros)
        #expect(late.state?.windows == again.state?.windows)
        #expect(late.state?.firstCallMilliseconds == again.state?.firstCallMilliseconds)
    }

    @Test(
        "is the same one when value or totals go on, or its first call is hardly later",
        arguments: [
            (Time.hour, 0, 10, true), (Time.hour - 1000, 0, 10, false),
            (5 * Time.hour, 4, 10, false), (5 * Time.hour, 0, 60, false),
        ] as [(Int64, Int, Double, Bool)])
    func evidence(_ later: Int64, _ fine: Int, _ total: Double, _ starts: Bool) throws {
        let old = try old(true, firstCall: Time.noon)
        var next = Device(firstCall: Time.noon + later, lastCall: nil)
        next.hasThreeWindows = true
        next.state = old.state
        next.fine = fine
        next.totals = ["USD": total]
        let answer = try next.ask("ride", at: Time.noon + 10 * Time.hour)
        #expect(next.updates[0].startsInstall == starts)
        let told = try #require(old.updates[0].fine?.told?.value)
        #expect((try #require(answer.fine) >= told) == !starts)
    }
}

@Suite("An app that calls both frameworks")
struct FrameworkTests {
    @Test("has a value in each, and one event is one in each, with one update_id or with two")
    func apart() async throws {
        let place = try ServicePlace()
        let service = try place.service()
        for (step, ids) in [("a", "a"), ("b", "c")].enumerated() {
            for (framework, id) in [("skadnetwork", ids.0), ("adattributionkit", ids.1)] {
                let request = try Device(app: Shipped.meals).request(
                    "order", .conversionValue, ["framework": framework, "update_id": id],
                    at: Time.noon)
                _ = try await service.answer(request, nowMilliseconds: Time.noon + Int64(step))
            }
        }
        service.stop()
        let key = InstallKey(
            appID: Shipped.meals, installID: Device().installID, framework: .adAttributionKit)
        let states = try [place.states(of: [Device().installID])[0], place.state(of: key)]
        for state in states { #expect(state?.windows[0].eventCounts == ["order": 2]) }
        #expect(states.map { $0?.windowing } == [.single, .three])
    }
}

@Suite("A file of installs that is of no use")
struct SetAsideTests {
    private func ask(_ service: ConversionService, at now: Int64) async throws -> ConversionAnswer {
        var device = Device(app: Shipped.meals)
        device.totals = ["GBP": 60]
        return try await service.answer(
            device.request("registration", at: now), nowMilliseconds: now)
    }

    @Test("is set aside with a warning, and made again from the log", arguments: [false, true])
    func madeAgain(isOfOtherLog: Bool) async throws {
        let place = try ServicePlace()
        let service = try place.service()
        let told = try await ask(service, at: Time.noon)
        service.stop()
        let served = try place.states(of: [Device().installID])
        let file = place.path + "/conversions.sqlite"
        let other = try ServicePlace()
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file + end) }
        if isOfOtherLog {
            try other.service().stop()
            try FileManager.default.copyItem(
                atPath: other.path + "/conversions.sqlite", toPath: file)
        } else {
            try Data((0..<9000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 3) })
                .write(to: URL(filePath: file))
        }
        let warnings = Warnings()
        let again = try ConversionService(
            log: place.log(), storePath: file, apps: Shipped.apps(), warn: { warnings.add($0) })
        #expect(try await ask(again, at: Time.noon + 1000).fine == told.fine)
        again.stop()
        #expect(warnings.all.count == 1)
        #expect(warnings.all.first?.contains(".set-aside") == true)
        #expect(FileManager.default.fileExists(atPath: file + ".set-aside"))
        let state = try place.states(of: [Device().installID])[0]
        #expect(state?.windows == served[0]?.windows)
    }

    @Test("so is one whose damage is found later, and whoever asked then is to ask again")
    func damagedInside() async throws {
        let place = try ServicePlace()
        let service = try place.service()
        _ = try await ask(service, at: Time.noon)
        service.stop()
        try place.damageStates()
        let again = try place.service()
        await #expect(throws: ConversionServiceError.self) {
            try await ask(again, at: Time.noon + 1)
        }
        #expect(try await ask(again, at: Time.noon + 2).fine != nil)
        again.stop()
        #expect(
            try place.states(of: [Device().installID])[0]?.windows[0].eventCounts
                == ["registration": 1])
    }
}
