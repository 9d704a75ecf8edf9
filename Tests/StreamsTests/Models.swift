import ConversionModels
import Streams

/// Conversion models of the app 22.
enum Models {
    static let app: Int64 = 22
    /// The latest instant at which the value of a postback of `TestRecord.halfPastFive` was set.
    static let latest = TestRecord.halfPastFive - 24 * 3_600_000
    private static let hour: Int64 = 3_600_000

    /// One version that has been in effect forever: bits 0 to 2 are revenue, 3 to 5 an event.
    static func model(
        secondFrom: Int64? = nil, from first: Int64? = nil, locks: [Int: Int] = [:]
    ) throws -> ConversionModel {
        // Versions take effect at whole hours.
        let begin = first.map { $0 - $0 % hour } ?? 0
        var versions = [try version("v1", from: begin, locks: locks)]
        if let secondFrom { versions.append(try version("v2", from: secondFrom)) }
        return try ConversionModel(app: app, versions: versions)
    }

    static func version(
        _ id: String, from: Int64, locks: [Int: Int] = [:]
    ) throws -> ConversionModelVersion {
        try ConversionModelVersion(
            id: id, effectiveFromMilliseconds: from, currency: "EUR",
            fields: [
                FineField(
                    lowestBit: 0, highestBit: 2,
                    kind: .revenue(
                        event: "revenue",
                        boundsMicros: [0, 990_000, 4_990_000, 10_000_000, 20_000_000],
                        maxMicros: 50_000_000)),
                FineField(
                    lowestBit: 3, highestBit: 5,
                    kind: .events([
                        2: ModelEvent(
                            event: "purchase", countMin: 3, countMax: 5, revenueMinMicros: 500_000,
                            revenueMaxMicros: 1_000_000)
                    ])),
            ],
            coarse: [
                0: [.low: [ModelEvent(event: "first")]],
                1: [.low: [ModelEvent(event: "second", countMax: 2)]],
                2: [.high: [ModelEvent(event: "third"), ModelEvent(event: "third")]],
            ], lockHours: locks)
    }

    /// A version under which the fine value 1 is all the revenue that 64 bits hold.
    static func hugeRevenue() throws -> ConversionModel {
        try ConversionModel(
            app: app,
            versions: [
                ConversionModelVersion(
                    id: "huge", effectiveFromMilliseconds: 0, currency: "EUR",
                    fields: [
                        FineField(
                            lowestBit: 0, highestBit: 5,
                            kind: .table([
                                1: [ModelEvent(event: "sale", revenueMinMicros: .max)],
                                2: [ModelEvent(event: "sale", revenueMinMicros: 1)],
                            ]))
                    ])
            ])
    }
}
