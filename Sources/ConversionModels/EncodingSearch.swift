/// Looks for the value whose decoding tells most about a state, among values that may be used.
///
/// A value fits when the interval of every event that it decodes to contains the state's figure.
/// Counts and revenue are compared only where the values measure them: an event that has no
/// revenue under any value says nothing about revenue, and a revenue bucket nothing about counts.
struct EncodingSearch {
    struct Candidate {
        var value: Int
        var events: [DecodedEvent]
    }

    let candidates: [Candidate]
    /// The largest count of each event whose count is measured.
    private let largestCounts: [String: Int64]
    /// The largest revenue of each event whose revenue is measured.
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

    /// The best value; nil when none fits. Figures beyond all values count as the largest there is.
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

/// How much a fitting value tells: more figures first, then higher minima (so that an amount on the
/// bound of two buckets goes to the upper), then narrower intervals, then the higher value.
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
    /// How often an event happened: its own count, and one more when its flag is set.
    fileprivate func count(of event: String) -> Int64 {
        let flag: Int64 = flags.contains(event) ? 1 : 0
        let (sum, overflow) = eventCounts[event, default: 0].addingReportingOverflow(flag)
        return overflow ? .max : sum
    }
}
