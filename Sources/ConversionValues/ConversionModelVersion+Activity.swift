import ConversionModels

extension ConversionModelVersion {
    /// What the activity of a window says to the fine value.
    ///
    /// - Parameter day: whole days since the first call.
    func fineState(of window: WindowState, day: Int) -> ConversionState {
        state(of: window, day: day, paying: payingInFine)
    }

    /// What the activity of a window says to its coarse value.
    func coarseState(of window: WindowState, sequenceIndex: Int) -> ConversionState {
        let events = coarse[sequenceIndex]?.values.flatMap { $0 } ?? []
        return state(of: window, day: 0, paying: Self.paying(events))
    }

    /// The highest fine value that an install can be given within so many days.
    func highestFine(withinDays days: Int) -> Int {
        fields.reduce(0) { $0 | $1.highestNumber(withinDays: days) << $1.bits.lowerBound }
    }

    /// The highest coarse value that says something in a window; nil when none does.
    func highestCoarse(sequenceIndex: Int) -> CoarseValue? {
        coarse[sequenceIndex]?.filter { !$0.value.isEmpty }.keys.max()
    }

    /// Revenue that a request names no event for is that of the only event that has revenue in the
    /// model, and of `revenue`; where several have, each has what came with it.
    private func state(
        of window: WindowState, day: Int, paying: Set<String>
    ) -> ConversionState {
        var state = ConversionState(eventCounts: window.eventCounts, day: day)
        for name in flagNames where window.eventCounts[name, default: 0] > 0 {
            // A flag tells one of the times.
            state.flags.insert(name)
            state.eventCounts[name, default: 0] -= 1
        }
        let revenue = window.revenueMicros[currency] ?? [:]
        for name in paying {
            let isAll = paying.count == 1 || name == Self.totalName
            state.revenueMicros[name] =
                isAll ? revenue.values.reduce(0, +) : revenue[name, default: 0]
        }
        return state
    }

    private static let totalName = "revenue"

    private var flagNames: [String] {
        fields.flatMap { field -> [String] in
            if case .flags(let flags) = field.kind { Array(flags.values) } else { [] }
        }
    }

    /// The events to which fine values give revenue.
    private var payingInFine: Set<String> {
        fields.reduce(into: []) { names, field in
            switch field.kind {
            case .revenue(let event, _, _): names.insert(event)
            case .events(let values): names.formUnion(Self.paying(Array(values.values)))
            case .table(let values): names.formUnion(Self.paying(values.values.flatMap { $0 }))
            case .flags, .days: break
            }
        }
    }

    private static func paying(_ events: [ModelEvent]) -> Set<String> {
        Set(events.filter { $0.revenueMaxMicros > 0 }.map(\.event))
    }
}

extension FineField {
    fileprivate func highestNumber(withinDays days: Int) -> Int {
        switch kind {
        case .revenue(_, let bounds, _): bounds.count - 1
        case .events(let values): values.keys.max() ?? 0
        case .table(let values): values.filter { !$0.value.isEmpty }.keys.max() ?? 0
        case .flags(let flags): flags.keys.reduce(0) { $0 | 1 << ($1 - bits.lowerBound) }
        case .days: min(max(days - 1, 0), largestNumber)
        }
    }
}
