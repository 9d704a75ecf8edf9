/// Deliveries that are pending: to be sent, or sent again.
package struct WaitingDeliveries: Equatable, Sendable {
    /// How many there are.
    package var count: Int
    /// When the oldest of them was taken over from the topic, milliseconds since 1970; nil without any.
    package var oldestMilliseconds: Int64?

    /// For how long the oldest has been waiting, in seconds; nil without any.
    package func seconds(at nowMilliseconds: Int64) -> Int64? {
        oldestMilliseconds.map { max(nowMilliseconds - $0, 0) / 1000 }
    }

    /// These and those of another store.
    package func adding(_ other: WaitingDeliveries) -> WaitingDeliveries {
        WaitingDeliveries(
            count: count + other.count,
            oldestMilliseconds: [oldestMilliseconds, other.oldestMilliseconds].compactMap(\.self)
                .min())
    }
}
