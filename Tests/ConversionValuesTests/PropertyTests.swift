import ConversionModels
import TestKit
import Testing

@testable import ConversionValues

@Suite("Whatever installs ask, in whatever order and however often")
struct PropertyTests {
    /// Requests of one install over forty days, many of them repeated or out of order.
    private func requests(
        _ random: inout SeededGenerator, app: Int64, hasThreeWindows: Bool
    ) throws -> [(request: ConversionRequest, now: Int64)] {
        var sent: [ConversionRequest] = []
        var now = Time.noon
        var device = Device(app: app)
        device.hasThreeWindows = hasThreeWindows
        let events = [
            nil, "ride", "order", "registration", "purchase", "level_completed", "trial_started",
        ]
        return try (0..<150).map { _ in
            now += Int64.random(in: -Time.hour...10 * Time.hour, using: &random)
            if Int.random(in: 0..<4, using: &random) == 0,
                let old = sent.randomElement(using: &random)
            {
                return (old, now)
            }
            for currency in ["USD", "EUR", "GBP"] where Bool.random(using: &random) {
                device.totals[currency] = Double(Int.random(in: 0...4000, using: &random)) / 10
            }
            device.fine = Int.random(in: 0..<8, using: &random) == 0 ? nil : device.fine
            if Int.random(in: 0..<10, using: &random) == 0 {
                device.fine = Int.random(in: 0...63, using: &random)
            }
            device.lastCall =
                Bool.random(using: &random) ? min(now, Time.noon + 40 * Time.day) : nil
            if hasThreeWindows {
                device.coarse = [nil, .low, .medium].shuffled(using: &random)
                device.locks[0] = Int.random(in: 0..<60, using: &random) == 0
            }
            let kind: ConversionRequest.Kind =
                [.conversionValue, .conversionValue, .event].randomElement(using: &random)
                ?? .launch
            let event = events.randomElement(using: &random) ?? nil
            let request = try device.request(event ?? "ride", kind, at: max(now, Time.noon))
            sent.append(request)
            return (request, now)
        }
    }

    @Test(
        "no answer within a window is lower than one before it, or than what the install says it has",
        arguments: [Shipped.rides, Shipped.puzzle, Shipped.meals], 0..<12 as Range<UInt64>)
    func neverLower(_ app: Int64, _ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let isThree = seed.isMultiple(of: 2)
        let model = try Shipped.models().first { $0.app == app }
        var state: InstallState?
        var highestFine = -1
        var highestCoarse: [Int: CoarseValue] = [:]
        var told = 0
        var lastIndex = 0
        for (request, now) in try requests(&random, app: app, hasThreeWindows: isThree) {
            let (answer, update) = ConversionEngine.answer(
                request, state: state, model: model, nowMilliseconds: now)
            state = InstallState.after(update, state)
            if let index = update.sequenceIndex {
                #expect(index >= lastIndex, "no window opens again")
                lastIndex = index
            }
            if let fine = answer.fine {
                told += 1
                #expect(update.sequenceIndex != nil, "nothing is told after the end")
                #expect(fine >= highestFine)
                #expect(fine >= request.fine ?? 0)
                highestFine = fine
            }
            highestFine = max(highestFine, request.fine ?? -1)
            if let coarse = answer.coarse, let index = update.sequenceIndex {
                #expect(coarse >= highestCoarse[index] ?? .low)
                #expect(coarse >= request.coarse[index] ?? .low)
                highestCoarse[index] = coarse
            }
            if update.locksWindow { #expect(answer.locksWindow == true) }
        }
        #expect(told > 3)
    }

    @Test(
        "decode(encode(state)) contains what the install did",
        arguments: [Shipped.rides, Shipped.puzzle, Shipped.meals], 0..<10 as Range<UInt64>)
    func contains(_ app: Int64, _ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let model = try #require(try Shipped.models().first { $0.app == app })
        var state: InstallState?
        var checked = 0
        let all = try requests(&random, app: app, hasThreeWindows: seed.isMultiple(of: 2))
        for (request, now) in all {
            let (_, update) = ConversionEngine.answer(
                request, state: state, model: model, nowMilliseconds: now)
            state = InstallState.after(update, state)
            for version in model.versions {
                for (index, window) in (state?.windows ?? []).enumerated() {
                    let day = Int.random(in: 0...3, using: &random)
                    checked += check(version, version.fineState(of: window, day: day))
                    let coarse = version.coarseState(of: window, sequenceIndex: index)
                    checked += check(version, coarse, sequenceIndex: index)
                }
            }
        }
        #expect(checked > 100)
    }

    /// Holds each figure that the value speaks of against the state's; figures beyond all values count as
    /// the largest.
    private func check(
        _ version: ConversionModelVersion, _ state: ConversionState, sequenceIndex: Int? = nil
    ) -> Int {
        let decoded: [DecodedEvent]
        let everything: [DecodedEvent]
        if let sequenceIndex {
            guard let value = try? version.encodeCoarse(state, sequenceIndex: sequenceIndex) else {
                return 0
            }
            decoded = version.decode(coarse: value, sequenceIndex: sequenceIndex)
            everything = CoarseValue.allCases.flatMap {
                version.decode(coarse: $0, sequenceIndex: sequenceIndex)
            }
        } else {
            guard let value = try? version.encode(state) else { return 0 }
            #expect(version.flags(fine: value) == state.flags)
            #expect(version.day(fine: value) ?? state.day == state.day)
            decoded = version.decode(fine: value)
            everything = (0...63).flatMap { version.decode(fine: $0) }
        }
        for event in decoded {
            let same = everything.filter { $0.event == event.event }
            let most = same.map(\.countMax).max() ?? 0
            let own = state.eventCounts[event.event, default: 0]
            let count = min(own + (state.flags.contains(event.event) ? 1 : 0), most)
            #expect(most == 0 || (event.countMin...event.countMax).contains(count))
            let largest = same.map(\.revenueMaxMicros).max() ?? 0
            let revenue = min(state.revenueMicros[event.event, default: 0], largest)
            #expect((event.revenueMinMicros...event.revenueMaxMicros).contains(revenue))
        }
        return decoded.count
    }

    @Test(
        "the state is the same when it is made of the events as they stand in the topic, some of them twice"
    )
    func rebuilt() throws {
        for seed: UInt64 in 0..<6 {
            var random = SeededGenerator(seed: seed)
            let model = try Shipped.models().first { $0.app == Shipped.meals }
            var served: InstallState?
            var rebuilt: InstallState?
            let all = try requests(
                &random, app: Shipped.meals, hasThreeWindows: seed.isMultiple(of: 2))
            for (request, now) in all {
                let (_, update) = ConversionEngine.answer(
                    request, state: served, model: model, nowMilliseconds: now)
                served = InstallState.after(update, served)
                let read = try update.json().withUnsafeBytes { ConversionUpdate.read($0) }
                #expect(read == update)
                // A producer's retry may leave a record in the log twice.
                for _ in 0...random.next() % 2 {
                    rebuilt = InstallState.after(try #require(read), rebuilt)
                }
            }
            #expect(served == rebuilt)
        }
    }
}
