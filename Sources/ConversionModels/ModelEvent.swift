/// An event as a conversion model writes it: what one number of a field says happened.
package struct ModelEvent: Equatable, Sendable {
    /// Name of the event; names compare as UTF-8 bytes.
    package let event: String
    /// Fewest times that it happened.
    package let countMin: Int64
    /// Most times that it happened, at least `countMin`.
    package let countMax: Int64
    /// Least revenue, in micros of the version's currency.
    package let revenueMinMicros: Int64
    /// Most revenue, in micros of the version's currency, at least `revenueMinMicros`.
    package let revenueMaxMicros: Int64

    /// An event with the defaults of the configuration: once, without revenue, and each maximum
    /// as its minimum.
    ///
    /// Throws a fault at `event`, `count_min`, `count_max`, `revenue_min` or `revenue_max` for a
    /// name that cannot be one, a negative figure, or a maximum below its minimum.
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
