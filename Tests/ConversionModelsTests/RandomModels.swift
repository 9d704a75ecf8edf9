import ConversionModels
import TestKit

/// Valid layouts of every shape: fields over disjoint bits, with gaps, and names that several
/// fields share.
struct RandomModels {
    var random: SeededGenerator
    private let names = ["order", "trial", "level", "revenue"]

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func version() throws -> ConversionModelVersion {
        var fields: [FineField] = []
        var hasDays = false
        var flagNames = (names + ["login", "share"]).shuffled(using: &random)
        var lowest = Int.random(in: 0...1, using: &random)
        while lowest <= 5 {
            let highest = Int.random(in: lowest...5, using: &random)
            let kind = try kind(bits: lowest...highest, hasDays: &hasDays, flagNames: &flagNames)
            fields.append(try FineField(lowestBit: lowest, highestBit: highest, kind: kind))
            lowest = highest + 1 + Int.random(in: 0...1, using: &random)
        }
        return try ConversionModelVersion(
            id: "random", effectiveFromMilliseconds: 0, currency: "USD",
            fields: fields.shuffled(using: &random), coarse: try coarse())
    }

    mutating func state() -> ConversionState {
        var state = ConversionState(day: Int.random(in: 0...9, using: &random))
        for name in names {
            if Bool.random(using: &random) {
                state.eventCounts[name] = Int64.random(in: 0...12, using: &random)
            }
            if Bool.random(using: &random) {
                state.revenueMicros[name] = Int64.random(in: 0...60, using: &random)
            }
            if Bool.random(using: &random) { state.flags.insert(name) }
        }
        return state
    }

    /// A state that the decoding of this fine value contains.
    mutating func state(within fine: Int, of version: ConversionModelVersion) -> ConversionState {
        var state = ConversionState(
            day: version.day(fine: fine) ?? 0, flags: version.flags(fine: fine))
        for event in version.decode(fine: fine) {
            let count = Int64.random(in: event.countMin...event.countMax, using: &random)
            state.eventCounts[event.event] = count - (state.flags.contains(event.event) ? 1 : 0)
            state.revenueMicros[event.event] = Int64.random(
                in: event.revenueMinMicros...event.revenueMaxMicros, using: &random)
        }
        return state
    }

    private mutating func kind(
        bits: ClosedRange<Int>, hasDays: inout Bool, flagNames: inout [String]
    ) throws -> FineField.Kind {
        let largest = 1 << bits.count - 1
        switch Int.random(in: hasDays ? 0...3 : 0...4, using: &random) {
        case 0:
            var bounds = [Int64.random(in: 0...3, using: &random)]
            for _ in 0..<Int.random(in: 0...largest, using: &random) {
                bounds.append(bounds[bounds.count - 1] + Int64.random(in: 1...9, using: &random))
            }
            let max = bounds[bounds.count - 1] + Int64.random(in: 0...20, using: &random)
            return .revenue(event: name(), boundsMicros: bounds, maxMicros: max)
        case 1: return .events(try numbered(largest) { random throws in try random.event() })
        case 2:
            var flags: [Int: String] = [:]
            for bit in bits where Bool.random(using: &random) { flags[bit] = flagNames.popLast() }
            return .flags(flags)
        case 3: return .table(try numbered(largest) { random throws in try random.events() })
        default:
            hasDays = true
            return .days
        }
    }

    private mutating func coarse() throws -> [Int: [CoarseValue: [ModelEvent]]] {
        var coarse: [Int: [CoarseValue: [ModelEvent]]] = [:]
        for window in 0...2 where Bool.random(using: &random) {
            for value in CoarseValue.allCases where Bool.random(using: &random) {
                coarse[window, default: [:]][value] = try events()
            }
        }
        return coarse
    }

    private mutating func numbered<Value>(
        _ largest: Int, _ make: (inout RandomModels) throws -> Value
    ) throws -> [Int: Value] {
        var values: [Int: Value] = [:]
        for number in 0...largest where Bool.random(using: &random) {
            values[number] = try make(&self)
        }
        return values
    }

    private mutating func events() throws -> [ModelEvent] {
        var events: [ModelEvent] = []
        for _ in 0..<Int.random(in: 0...3, using: &random) { events.append(try event()) }
        return events
    }

    private mutating func event() throws -> ModelEvent {
        let countMin = Int64.random(in: 0...3, using: &random)
        let revenueMin = Bool.random(using: &random) ? 0 : Int64.random(in: 0...20, using: &random)
        return try ModelEvent(
            event: name(), countMin: countMin,
            countMax: countMin + Int64.random(in: 0...5, using: &random),
            revenueMinMicros: revenueMin,
            revenueMaxMicros: revenueMin == 0
                ? 0 : revenueMin + Int64.random(in: 0...20, using: &random))
    }

    private mutating func name() -> String { names[Int.random(in: names.indices, using: &random)] }
}
