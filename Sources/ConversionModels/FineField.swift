/// One range of bits of a fine conversion value, and the meaning of its number.
package struct FineField: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// The number is the bucket with the revenue of `event`. Bucket n extends from bound n to the next bound, the
        /// last one to `maxMicros`; it counts no events. A number after the last bucket means nothing.
        case revenue(event: String, boundsMicros: [Int64], maxMicros: Int64)
        /// The number names one event; an unlisted number means nothing.
        case events([Int: ModelEvent])
        /// Each bit, by its absolute number, means that its event happened once.
        case flags([Int: String])
        /// The number is the day since the install; it contains no events.
        case days
        /// The number represents any events; an unlisted number means nothing.
        case table([Int: [ModelEvent]])
    }

    /// The bits, from 0 for the least significant, within 0...5.
    package let bits: ClosedRange<Int>
    package let kind: Kind

    /// Throws a fault at `bits`, `event`, `buckets`, `max`, `values` or `flags` if the bits are not within 0...5 or
    /// the kind does not fit into them.
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

    package var largestNumber: Int { 1 << bits.count - 1 }

    package func number(in fine: Int) -> Int {
        fine >> bits.lowerBound & largestNumber
    }

    /// By ascending absolute bit; empty for other kinds.
    var flags: [(bit: Int, name: String)] {
        guard case .flags(let flags) = kind else { return [] }
        return flags.sorted { $0.key < $1.key }.map { (bit: $0.key, name: $0.value) }
    }

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

/// An event of a conversion model: the meaning of one number of a field.
package struct ModelEvent: Equatable, Sendable {
    /// Names compare as UTF-8 bytes.
    package let event: String
    package let countMin: Int64
    /// At least `countMin`.
    package let countMax: Int64
    /// In micros of the currency of the version.
    package let revenueMinMicros: Int64
    /// In micros, at least `revenueMinMicros`.
    package let revenueMaxMicros: Int64

    /// The defaults are those of configuration: once, without revenue, and each maximum equal to its minimum.
    ///
    /// Throws a fault at `event`, `count_min`, `count_max`, `revenue_min` or `revenue_max` for an invalid name, a
    /// negative figure, or a maximum below its minimum.
    package init(
        event: String,
        countMin: Int64 = 1,
        countMax: Int64? = nil,
        revenueMinMicros: Int64 = 0,
        revenueMaxMicros: Int64? = nil
    ) throws(ModelFault) {
        try ModelFault.checkName(event, at: "event")
        let countMax = countMax ?? countMin
        let revenueMaxMicros = revenueMaxMicros ?? revenueMinMicros
        guard countMin >= 0 else { throw ModelFault("count_min", .negative) }
        guard countMax >= countMin else { throw ModelFault("count_max", .maximumBelowMinimum) }
        guard revenueMinMicros >= 0 else { throw ModelFault("revenue_min", .negative) }
        guard revenueMaxMicros >= revenueMinMicros else {
            throw ModelFault("revenue_max", .maximumBelowMinimum)
        }
        self.event = event
        self.countMin = countMin
        self.countMax = countMax
        self.revenueMinMicros = revenueMinMicros
        self.revenueMaxMicros = revenueMaxMicros
    }
}

/// The meaning of a conversion value for one event: bounds of the count and of the revenue.
package struct DecodedEvent: Equatable, Sendable {
    package let event: String
    package private(set) var countMin: Int64
    package private(set) var countMax: Int64
    /// In micros of the currency of the version.
    package private(set) var revenueMinMicros: Int64
    /// In micros of the currency of the version.
    package private(set) var revenueMaxMicros: Int64

    package init(
        event: String,
        countMin: Int64,
        countMax: Int64,
        revenueMinMicros: Int64,
        revenueMaxMicros: Int64
    ) {
        self.event = event
        self.countMin = countMin
        self.countMax = countMax
        self.revenueMinMicros = revenueMinMicros
        self.revenueMaxMicros = revenueMaxMicros
    }

    init(_ event: ModelEvent) {
        self.init(
            event: event.event,
            countMin: event.countMin,
            countMax: event.countMax,
            revenueMinMicros: event.revenueMinMicros,
            revenueMaxMicros: event.revenueMaxMicros
        )
    }

    /// Adds the bounds of another decoding of the same event; false on overflow.
    private mutating func add(_ other: DecodedEvent) -> Bool {
        let countMin = countMin.addingReportingOverflow(other.countMin)
        let countMax = countMax.addingReportingOverflow(other.countMax)
        let revenueMin = revenueMinMicros.addingReportingOverflow(other.revenueMinMicros)
        let revenueMax = revenueMaxMicros.addingReportingOverflow(other.revenueMaxMicros)
        self.countMin = countMin.partialValue
        self.countMax = countMax.partialValue
        revenueMinMicros = revenueMin.partialValue
        revenueMaxMicros = revenueMax.partialValue
        return
            !(countMin.overflow || countMax.overflow || revenueMin.overflow
            || revenueMax.overflow)
    }

    /// Adds up events of one name, in the order of first appearance.
    static func merged(
        _ events: some Sequence<DecodedEvent>
    ) throws(ModelFault) -> [DecodedEvent] {
        var merged: [DecodedEvent] = []
        for event in events {
            // Compared as bytes, because String's equality would join names that differ in normal form.
            let index = merged.firstIndex { $0.event.utf8.elementsEqual(event.event.utf8) }
            guard let index else {
                merged.append(event)
                continue
            }
            guard merged[index].add(event) else {
                throw ModelFault(path: [], .overflow(event: event.event))
            }
        }
        return merged
    }
}
