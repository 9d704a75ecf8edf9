import ConversionModels
import Testing

@Suite("Random models")
struct EncodingPropertyTests {
    @Test("decode is the sum of what the fields say, in their order", arguments: 0..<40)
    func decodeIsSum(seed: UInt64) throws {
        var models = RandomModels(seed: seed)
        let version = try models.version()
        for fine in 0...63 {
            var order: [String] = []
            var sums: [String: [Int64]] = [:]
            for (name, figures) in version.fields.flatMap({ $0.figures(in: fine) }) {
                if sums[name] == nil { order.append(name) }
                sums[name] = zip(sums[name] ?? [0, 0, 0, 0], figures).map { $0 + $1 }
            }
            let decoded = version.decode(fine: fine)
            #expect(decoded.map(\.event) == order)
            #expect(decoded.map(\.figures) == order.compactMap { sums[$0] })
        }
    }

    @Test("decode(encode(state)) contains a state that some value contains", arguments: 0..<200)
    func containsState(seed: UInt64) throws {
        var models = RandomModels(seed: seed)
        let version = try models.version()
        for fine in 0...63 {
            let state = models.state(within: fine, of: version)
            let encoded = try version.encode(state)
            #expect(version.flags(fine: encoded) == state.flags)
            #expect(version.day(fine: encoded) == version.day(fine: fine))
            for event in version.decode(fine: encoded) {
                let isCounted = (0...63).contains { value in
                    version.decode(fine: value).contains {
                        $0.event == event.event && $0.countMax > 0
                    }
                }
                let count =
                    state.eventCounts[event.event, default: 0]
                    + (state.flags.contains(event.event) ? 1 : 0)
                #expect(!isCounted || (event.countMin...event.countMax).contains(count))
                let revenue = state.revenueMicros[event.event, default: 0]
                #expect((event.revenueMinMicros...event.revenueMaxMicros).contains(revenue))
            }
            #expect(
                version.decode(fine: encoded).isEmpty == false
                    || version.decode(fine: fine).isEmpty,
                "a value that says something is preferred to one that says nothing")
        }
    }

    @Test(
        "any state is encoded as the most that can be said, or refused when no value contains it",
        arguments: 0..<200)
    func anyState(seed: UInt64) throws {
        var models = RandomModels(seed: seed)
        let version = try models.version()
        for _ in 0..<40 {
            let state = models.state()
            let fitting = version.valuesContaining(state)
            guard let encoded = try? version.encode(state) else {
                #expect(fitting.isEmpty)
                continue
            }
            #expect(fitting.contains(encoded))
            #expect(try version.encode(state) == encoded, "the same every time")
        }
    }

    @Test("a coarse value contains the state that it was made from", arguments: 0..<100)
    func coarse(seed: UInt64) throws {
        var models = RandomModels(seed: seed)
        let version = try models.version()
        for window in version.coarse.keys {
            for value in CoarseValue.allCases {
                let decoded = version.decode(coarse: value, sequenceIndex: window)
                guard !decoded.isEmpty else { continue }
                let state = ConversionState(
                    eventCounts: decoded.reduce(into: [:]) { $0[$1.event] = $1.countMax },
                    revenueMicros: decoded.reduce(into: [:]) { $0[$1.event] = $1.revenueMinMicros })
                let encoded = try version.encodeCoarse(state, sequenceIndex: window)
                for event in version.decode(coarse: encoded, sequenceIndex: window) {
                    let revenue = state.revenueMicros[event.event, default: 0]
                    #expect(
                        (event.revenueMinMicros...event.revenueMaxMicros).contains(revenue)
                            || event.revenueMaxMicros < revenue)
                }
            }
        }
    }
}

extension DecodedEvent {
    fileprivate var figures: [Int64] { [countMin, countMax, revenueMinMicros, revenueMaxMicros] }
}

extension FineField {
    /// What the field says, written once more from the contract.
    fileprivate func figures(in fine: Int) -> [(String, [Int64])] {
        let number = (fine >> bits.lowerBound) % (1 << (bits.upperBound - bits.lowerBound + 1))
        func figures(_ event: ModelEvent) -> (String, [Int64]) {
            (
                event.event,
                [event.countMin, event.countMax, event.revenueMinMicros, event.revenueMaxMicros]
            )
        }
        switch kind {
        case .revenue(let event, let bounds, let max):
            let ends = zip(bounds, bounds.dropFirst() + [max]).map { [0, 0, $0, $1] }
            return number < ends.count ? [(event, ends[number])] : []
        case .events(let values): return values[number].map { [figures($0)] } ?? []
        case .table(let values): return values[number, default: []].map(figures)
        case .flags(let flags):
            return (0...5).filter { fine & (1 << $0) != 0 }.compactMap { flags[$0] }
                .map { ($0, [1, 1, 0, 0]) }
        case .days: return []
        }
    }
}

extension ConversionModelVersion {
    /// The values with the state's flags and day whose every interval contains its figure, where a
    /// figure counts as at most what these values reach, and one that none reaches is not compared.
    fileprivate func valuesContaining(_ state: ConversionState) -> [Int] {
        let flagNames = fields.reduce(into: Set<String>()) { names, field in
            if case .flags(let flags) = field.kind { names.formUnion(flags.values) }
        }
        let revenueNames = fields.compactMap { field -> String? in
            if case .revenue(let event, _, _) = field.kind { event } else { nil }
        }
        let lastDay = fields.first { $0.kind == .days }?.largestNumber ?? 0
        let values = (0...63).filter { value in
            flags(fine: value) == state.flags.intersection(flagNames)
                && (day(fine: value) ?? 0) == min(state.day, lastDay)
        }
        let events = values.flatMap { decode(fine: $0) }
        func fits(_ figure: Int64, _ event: DecodedEvent, counts: Bool) -> Bool {
            let figures = { (event: DecodedEvent) in
                counts ? event.countMax : event.revenueMaxMicros
            }
            let most = events.filter { $0.event == event.event }.map(figures).max() ?? 0
            if most == 0, counts || !revenueNames.contains(event.event) { return true }
            let least = counts ? event.countMin : event.revenueMinMicros
            return least <= min(figure, most) && min(figure, most) <= figures(event)
        }
        return values.filter { value in
            decode(fine: value).allSatisfy { event in
                let count =
                    state.eventCounts[event.event, default: 0]
                    + (state.flags.contains(event.event) ? 1 : 0)
                return fits(count, event, counts: true)
                    && fits(state.revenueMicros[event.event, default: 0], event, counts: false)
            }
        }
    }
}
