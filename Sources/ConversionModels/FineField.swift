/// One range of bits of a fine conversion value, and what its number means.
package struct FineField: Equatable, Sendable {
    /// What the number in a field's bits means.
    package enum Kind: Equatable, Sendable {
        /// The number is the bucket that holds the revenue of `event`. Bucket n reaches from bound
        /// n to the next, the last one to `maxMicros`; it counts 0. A number beyond the last
        /// bucket says nothing. All in micros.
        case revenue(event: String, boundsMicros: [Int64], maxMicros: Int64)
        /// The number names one event; a number that is not listed says nothing.
        case events([Int: ModelEvent])
        /// Each bit, by its absolute number, says that its event happened once.
        case flags([Int: String])
        /// The number is the day since the install; it says nothing about events.
        case days
        /// The number stands for any events; a number that is not listed says nothing.
        case table([Int: [ModelEvent]])
    }

    /// The field's bits, counted from 0 at the least significant, within 0...5.
    package let bits: ClosedRange<Int>
    /// What its number means.
    package let kind: Kind

    /// A field over the bits `lowestBit` to `highestBit`.
    ///
    /// Throws a fault at `bits`, `event`, `buckets`, `max`, `values` or `flags` when the bits are
    /// not within 0...5 or the kind does not fit into them.
    package init(lowestBit: Int, highestBit: Int, kind: Kind) throws(ModelFault) {
        guard (0...5).contains(lowestBit), (lowestBit...5).contains(highestBit) else {
            throw ModelFault("bits", .badBits)
        }
        bits = lowestBit...highestBit
        self.kind = kind
        switch kind {
        case .revenue(let event, let bounds, let max):
            try ModelFault.checkName(event, at: "event")
            try checkBuckets(bounds, max: max)
        case .events(let values): try checkNumbers(values.keys)
        case .table(let values): try checkNumbers(values.keys)
        case .flags(let flags): try checkFlags(flags)
        case .days: break
        }
    }

    /// The largest number that the bits hold.
    package var largestNumber: Int { 1 << bits.count - 1 }

    /// The field's number within a fine value.
    package func number(in fine: Int) -> Int {
        fine >> bits.lowerBound & largestNumber
    }

    /// The flags, by ascending absolute bit; none for a field of another kind.
    var flags: [(bit: Int, name: String)] {
        guard case .flags(let flags) = kind else { return [] }
        return flags.sorted { $0.key < $1.key }.map { (bit: $0.key, name: $0.value) }
    }

    /// What the field says, given a whole fine value.
    func events(in fine: Int) -> [DecodedEvent] {
        let number = number(in: fine)
        switch kind {
        case .days:
            return []
        case .events(let values):
            return values[number].map { [DecodedEvent($0)] } ?? []
        case .table(let values):
            return values[number, default: []].map { DecodedEvent($0) }
        case .flags:
            return flags.filter { fine >> $0.bit & 1 == 1 }.map { Self.flag($0.name) }
        case .revenue(let event, let bounds, let max):
            guard number < bounds.count else { return [] }
            let upper = number + 1 < bounds.count ? bounds[number + 1] : max
            return [
                DecodedEvent(
                    event: event,
                    countMin: 0,
                    countMax: 0,
                    revenueMinMicros: bounds[number],
                    revenueMaxMicros: upper
                )
            ]
        }
    }

    private static func flag(_ event: String) -> DecodedEvent {
        DecodedEvent(
            event: event,
            countMin: 1,
            countMax: 1,
            revenueMinMicros: 0,
            revenueMaxMicros: 0
        )
    }

    private func checkBuckets(_ bounds: [Int64], max: Int64) throws(ModelFault) {
        guard let first = bounds.first, let last = bounds.last else {
            throw ModelFault("buckets", .noBuckets)
        }
        guard first >= 0 else { throw ModelFault(path: [.key("buckets"), .index(0)], .negative) }
        for index in bounds.indices.dropFirst() where bounds[index] <= bounds[index - 1] {
            throw ModelFault(path: [.key("buckets"), .index(index)], .bucketsNotAscending)
        }
        guard bounds.count <= largestNumber + 1 else {
            throw ModelFault("buckets", .tooManyBuckets(numbers: largestNumber + 1))
        }
        guard max >= last else { throw ModelFault("max", .maxBelowLastBucket) }
    }

    private func checkNumbers(_ numbers: some Sequence<Int>) throws(ModelFault) {
        for number in numbers.sorted() where !(0...largestNumber).contains(number) {
            throw ModelFault(
                path: [.key("values"), .key("\(number)")],
                .numberBeyondField(largest: largestNumber)
            )
        }
    }

    private func checkFlags(_ flags: [Int: String]) throws(ModelFault) {
        for (bit, event) in flags.sorted(by: { $0.key < $1.key }) {
            let path: [ModelFault.Step] = [.key("flags"), .key("\(bit)")]
            guard bits.contains(bit) else {
                throw ModelFault(path: path, .flagOutsideField(bits: bits))
            }
            do {
                try ModelFault.checkName(event, at: "")
            } catch {
                throw ModelFault(path: path, error.problem)
            }
        }
    }
}
