/// What a conversion value says about one event: bounds of how often, and of how much revenue.
package struct DecodedEvent: Equatable, Sendable {
    /// Name of the event.
    package let event: String
    /// Fewest times that it happened.
    package private(set) var countMin: Int64
    /// Most times that it happened.
    package private(set) var countMax: Int64
    /// Least revenue, in micros of the version's currency.
    package private(set) var revenueMinMicros: Int64
    /// Most revenue, in micros of the version's currency.
    package private(set) var revenueMaxMicros: Int64

    /// States the bounds of one event.
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

    /// Adds the bounds of another decoding of the same event; false when a sum leaves 64 bits.
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

    /// Joins events of one name by addition, in the order of first appearance.
    static func merged(
        _ events: some Sequence<DecodedEvent>
    ) throws(ModelFault) -> [DecodedEvent] {
        var merged: [DecodedEvent] = []
        for event in events {
            // Bytes, because String's own equality would join names that differ in normal form.
            let place = merged.firstIndex { $0.event.utf8.elementsEqual(event.event.utf8) }
            guard let place else {
                merged.append(event)
                continue
            }
            guard merged[place].add(event) else {
                throw ModelFault(path: [], .overflow(event: event.event))
            }
        }
        return merged
    }
}
