extension ConversionModelVersion {
    /// The fine value that tells most about a state.
    ///
    /// Its decoding contains the state: the interval of every event that it decodes to contains
    /// the state's figure, the flags are equal and so is the day. Where no value can say as much,
    /// the largest that can be said is: a day beyond the field is its last, and a count or an
    /// amount beyond every value (above a revenue field's `max`, say) counts as the largest that a
    /// value with these flags and this day reaches. A flag counts once in its event, beside the
    /// state's own count. Events and flags that the model does not name are left out.
    ///
    /// Of several values that contain the state, the one that speaks of more figures is taken,
    /// then the one with the higher minima, then the narrower, then the higher. Bits of no field
    /// and unnamed flags stay 0; of the numbers of a field that say nothing only the lowest is used.
    package func encode(_ state: ConversionState) throws(EncodingFault) -> Int {
        try state.checkFigures()
        let search = EncodingSearch(
            encodableValues(for: state).map { .init(value: $0, events: decode(fine: $0)) },
            revenueNames: revenueNames
        )
        guard let best = search.best(state) else { throw .noValueFits(version: id) }
        return best
    }

    /// The coarse value of a window that tells most about a state, by the same rules; the day has
    /// no part in it, and a flag counts once in its event.
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

    /// The values that carry the state's flags and day, and in every other field a number that is
    /// listed, or the lowest that says nothing; ascending.
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
