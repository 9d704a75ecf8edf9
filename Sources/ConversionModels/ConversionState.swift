/// The activity of an app's user, to encode as a conversion value.
package struct ConversionState: Equatable, Sendable {
    /// Counts of events by name; 0 where absent.
    package var eventCounts: [String: Int64]
    /// Revenue by event, in micros of the version's currency; 0 where absent. A revenue field reads the event that it
    /// names (`revenue` by default).
    package var revenueMicros: [String: Int64]
    /// Day since the install, from 0.
    package var day: Int
    /// The names of the set flags.
    package var flags: Set<String>

    package init(
        eventCounts: [String: Int64] = [:],
        revenueMicros: [String: Int64] = [:],
        day: Int = 0,
        flags: Set<String> = []
    ) {
        self.eventCounts = eventCounts
        self.revenueMicros = revenueMicros
        self.day = day
        self.flags = flags
    }
}

package enum EncodingFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// A count, an amount or the day is negative; the text is its name.
    case negative(String)
    /// No value of the version contains the state.
    case noValueFits(version: String)
    /// The version has no coarse values for this window.
    case noCoarseValues(version: String, sequenceIndex: Int)

    package var description: String {
        switch self {
        case .negative(let name):
            "'\(name)' is negative: a state counts from 0"
        case .noValueFits(let version):
            "no value of version '\(version)' contains this state: leave one number of each field"
                + " unassigned for other states"
        case .noCoarseValues(let version, let index):
            "version '\(version)' has no coarse values for window \(index): add them to the model"
        }
    }
}

extension ConversionModelVersion {
    /// The most informative fine value for a state.
    ///
    /// The decoding contains the state: the interval of every decoded event contains the figure of the state, and
    /// flags and day are equal. A flag counts once in its event, in addition to the count of the state. Events and
    /// flags that the model does not name are ignored.
    ///
    /// Figures beyond the model use its largest values. A later day is the last day of its field. A larger count or
    /// amount, such as one above `max` of a revenue field, is the largest that a value with these flags and this day
    /// reaches.
    ///
    /// Among the values that contain the state, the one with more figures wins, then higher minima, then narrower
    /// intervals, then the higher value. Bits outside of all fields and unnamed flags stay 0. Among a field's numbers
    /// without meaning only the lowest is used.
    package func encode(_ state: ConversionState) throws(EncodingFault) -> Int {
        try state.checkFigures()
        let search = EncodingSearch(
            encodableValues(for: state).map { .init(value: $0, events: decode(fine: $0)) },
            revenueNames: revenueNames
        )
        guard let best = search.best(state) else { throw .noValueFits(version: id) }
        return best
    }

    /// The most informative coarse value of a window for a state, by the same rules. The day is ignored.
    package func encodeCoarse(
        _ state: ConversionState,
        sequenceIndex: Int
    ) throws(EncodingFault) -> CoarseValue {
        try state.checkFigures()
        let decodings = CoarseValue.allCases.map { ($0, coarse[sequenceIndex]?[$0] ?? []) }
        guard decodings.contains(where: { !$0.1.isEmpty }) else {
            throw .noCoarseValues(version: id, sequenceIndex: sequenceIndex)
        }
        let silent = decodings.first { $0.1.isEmpty }?.0
        let usable = decodings.filter { !$0.1.isEmpty || $0.0 == silent }.map(\.0)
        let search = EncodingSearch(
            usable.map {
                .init(value: $0.rank, events: decode(coarse: $0, sequenceIndex: sequenceIndex))
            },
            revenueNames: []
        )
        guard let best = search.best(state) else { throw .noValueFits(version: id) }
        return CoarseValue.allCases[best]
    }

    /// All values with the flags and the day of the state and, in every other field, a listed number or the lowest
    /// number without meaning; ascending.
    private func encodableValues(for state: ConversionState) -> [Int] {
        var values = [0]
        for field in fields {
            let numbers = field.encodableNumbers(for: state)
            values = values.flatMap { value in
                numbers.map { value | $0 << field.bits.lowerBound }
            }
        }
        return values.sorted()
    }

    private var revenueNames: Set<String> {
        fields.reduce(into: []) { names, field in
            if case .revenue(let event, _, _) = field.kind { names.insert(event) }
        }
    }
}

extension FineField {
    fileprivate func encodableNumbers(for state: ConversionState) -> [Int] {
        switch kind {
        case .days:
            [min(state.day, largestNumber)]
        case .flags:
            [
                flags.filter { state.flags.contains($0.name) }
                    .reduce(0) { $0 | 1 << ($1.bit - bits.lowerBound) }
            ]
        case .revenue(_, let bounds, _):
            Array(0...min(bounds.count, largestNumber))
        case .events(let values):
            listed(values.keys)
        case .table(let values):
            listed(values.filter { !$0.value.isEmpty }.keys)
        }
    }

    private func listed(_ numbers: some Collection<Int>) -> [Int] {
        let silent = (0...largestNumber).first { !numbers.contains($0) }
        return (numbers + [silent].compactMap { $0 }).sorted()
    }
}

extension ConversionState {
    fileprivate func checkFigures() throws(EncodingFault) {
        let negative = (Array(eventCounts) + Array(revenueMicros)).filter { $0.value < 0 }
        if let name = negative.map(\.key).min() { throw .negative(name) }
        if day < 0 { throw .negative("day") }
    }
}

/// Finds the value with the most informative decoding for a state, among usable values.
///
/// A value fits if the interval of every decoded event contains the figure of the state. Counts and revenue are
/// compared only if values measure them: an event without revenue under any value does not measure revenue, and a
/// revenue bucket does not measure counts.
struct EncodingSearch {
    struct Candidate {
        var value: Int
        var events: [DecodedEvent]
    }

    let candidates: [Candidate]
    /// By event, where the count is measured.
    private let largestCounts: [String: Int64]
    /// By event, where the revenue is measured.
    private let largestRevenues: [String: Int64]

    init(_ candidates: [Candidate], revenueNames: Set<String>) {
        self.candidates = candidates
        let events = candidates.flatMap(\.events)
        largestCounts = Dictionary(
            events.filter { $0.countMax > 0 }.map { ($0.event, $0.countMax) },
            uniquingKeysWith: max
        )
        largestRevenues = Dictionary(
            events.filter { $0.revenueMaxMicros > 0 || revenueNames.contains($0.event) }
                .map { ($0.event, $0.revenueMaxMicros) },
            uniquingKeysWith: max
        )
    }

    /// The best value; nil if none fits. Figures above all values count as the largest value.
    func best(_ state: ConversionState) -> Int? {
        candidates.compactMap { merit(of: $0, for: state) }.max()?.value
    }

    private func merit(of candidate: Candidate, for state: ConversionState) -> Merit? {
        var merit = Merit(value: candidate.value)
        for event in candidate.events {
            if let largest = largestCounts[event.event] {
                let figure = min(state.count(of: event.event), largest)
                guard event.countMin <= figure, figure <= event.countMax else { return nil }
                merit.told += 1
                merit.countMin += Int128(event.countMin)
                merit.countWidth += Int128(event.countMax - event.countMin)
            }
            if let largest = largestRevenues[event.event] {
                let figure = min(state.revenueMicros[event.event, default: 0], largest)
                guard event.revenueMinMicros <= figure, figure <= event.revenueMaxMicros else {
                    return nil
                }
                merit.told += 1
                merit.revenueMin += Int128(event.revenueMinMicros)
                merit.revenueWidth += Int128(event.revenueMaxMicros - event.revenueMinMicros)
            }
        }
        return merit
    }
}

/// The information in a fitting value: more figures first, then higher minima (so that an amount on the bound of two
/// buckets goes to the upper one), then narrower intervals, then the higher value.
private struct Merit: Comparable {
    var value: Int
    var told = 0
    var revenueMin: Int128 = 0
    var countMin: Int128 = 0
    var revenueWidth: Int128 = 0
    var countWidth: Int128 = 0

    static func < (left: Merit, right: Merit) -> Bool {
        if left.told != right.told { return left.told < right.told }
        if left.revenueMin != right.revenueMin { return left.revenueMin < right.revenueMin }
        if left.countMin != right.countMin { return left.countMin < right.countMin }
        if left.revenueWidth != right.revenueWidth { return left.revenueWidth > right.revenueWidth }
        if left.countWidth != right.countWidth { return left.countWidth > right.countWidth }
        return left.value < right.value
    }
}

extension ConversionState {
    /// The count of an event, plus 1 if its flag is set.
    fileprivate func count(of event: String) -> Int64 {
        let flag: Int64 = flags.contains(event) ? 1 : 0
        let (sum, overflow) = eventCounts[event, default: 0].addingReportingOverflow(flag)
        return overflow ? .max : sum
    }
}
