import ConversionModels
import TestKit
import Testing

@Suite("Bounds of revenue")
struct RevenueBoundsTests {
    private static let hour: Int64 = 3_600_000

    /// A model of up to four versions of random layouts, some of another currency, in effect from random
    /// hours of fifty days on.
    private func model(_ models: inout RandomModels) throws -> ConversionModel {
        let count = Int.random(in: 1...4, using: &models.random)
        let hours = (0..<1200).shuffled(using: &models.random).prefix(count).sorted()
        var versions: [ConversionModelVersion] = []
        for (index, start) in hours.enumerated() {
            let layout = try models.version()
            versions.append(
                try ConversionModelVersion(
                    id: "v\(index)", effectiveFromMilliseconds: Int64(start) * Self.hour,
                    currency: Bool.random(using: &models.random) ? "USD" : "EUR",
                    fields: layout.fields, coarse: layout.coarse))
        }
        return try ConversionModel(app: 1, versions: versions)
    }

    @Test(
        "they cover what was set at any moment, and sent as it was, as a coarse value or not at all"
    )
    func coverEverything() throws {
        var models = RandomModels(seed: 11)
        var several = 0
        for _ in 0..<1000 {
            let model = try model(&models)
            let timing = PostbackTiming.allCases.randomElement(using: &models.random) ?? .upTo3
            let window = [PostbackTiming.window1: 1, .window2: 2][timing] ?? 0
            let received = Int64.random(in: 0...(1500 * Self.hour), using: &models.random)
            let setting = timing.settingInterval(received: received)
            let moment = Int64.random(in: setting.earliest...setting.latest, using: &models.random)
            func bounds(_ fine: Int?, _ coarse: CoarseValue?) -> [String: RevenueBounds]? {
                model.revenueBounds(
                    received: received, timing: timing, fine: fine, coarse: coarse,
                    sequenceIndex: window)
            }
            guard model.versionIndex(inEffectAtMilliseconds: setting.latest) != nil else {
                #expect(bounds(1, nil) == nil)
                #expect(bounds(nil, nil) == nil)
                continue
            }
            guard let index = model.versionIndex(inEffectAtMilliseconds: moment) else { continue }
            let version = model.versions[index]
            if bounds(nil, nil)?.count ?? 0 > 1 { several += 1 }
            let fine = Int.random(in: 0...63, using: &models.random)
            let coarse = CoarseValue.allCases.randomElement(using: &models.random) ?? .low
            expectCover(bounds(fine, nil), version.decode(fine: fine), version)
            if window == 0 { expectCover(bounds(nil, nil), version.decode(fine: fine), version) }
            guard timing != .upTo3 else { continue }
            let events = version.decode(coarse: coarse, sequenceIndex: window)
            expectCover(bounds(nil, coarse), events, version)
            expectCover(bounds(nil, nil), events, version)
        }
        #expect(several > 20)
    }

    private func expectCover(
        _ bounds: [String: RevenueBounds]?, _ events: [DecodedEvent],
        _ version: ConversionModelVersion
    ) {
        let least = events.reduce(Int128(0)) { $0 + Int128($1.revenueMinMicros) }
        let most = events.reduce(Int128(0)) { $0 + Int128($1.revenueMaxMicros) }
        for (currency, own) in bounds ?? [:] {
            if currency == version.currency {
                #expect(own.minMicros <= least && most <= own.maxMicros)
            } else {
                // It was in another currency, so that there was none in this one.
                #expect(own.minMicros <= 0)
            }
        }
        #expect(bounds?[version.currency] != nil)
    }

    @Test("they are those of the value where nothing is open, and reach no further than the model")
    func tight() throws {
        let field = try FineField(
            lowestBit: 0, highestBit: 1,
            kind: .revenue(event: "revenue", boundsMicros: [0, 5, 10], maxMicros: 20))
        let version = try ConversionModelVersion(
            id: "only", effectiveFromMilliseconds: 0, currency: "USD", fields: [field],
            coarse: [1: [.high: [try ModelEvent(event: "sale", revenueMinMicros: 3)]]])
        let model = try ConversionModel(app: 1, versions: [version])
        func bounds(_ window: Int, _ fine: Int?, _ coarse: CoarseValue?) -> RevenueBounds? {
            model.revenueBounds(
                received: 1 << 42, timing: PostbackTiming.window(window) ?? .upTo3, fine: fine,
                coarse: coarse, sequenceIndex: window)?["USD"]
        }
        #expect(bounds(0, 1, nil) == RevenueBounds(minMicros: 5, maxMicros: 10))
        #expect(bounds(0, nil, nil) == RevenueBounds(minMicros: 0, maxMicros: 20))
        // The first window lists no coarse value: the app set a fine one that was not sent.
        #expect(bounds(0, nil, .low) == RevenueBounds(minMicros: 0, maxMicros: 20))
        #expect(bounds(1, nil, .high) == RevenueBounds(minMicros: 3, maxMicros: 3))
        #expect(bounds(1, nil, .low) == RevenueBounds(minMicros: 0, maxMicros: 0))
        #expect(bounds(1, nil, nil) == RevenueBounds(minMicros: 0, maxMicros: 3))
        #expect(bounds(2, nil, nil) == RevenueBounds(minMicros: 0, maxMicros: 0))
    }
}
