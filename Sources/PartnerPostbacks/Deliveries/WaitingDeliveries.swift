/// Deliveries that are pending: to be sent, or sent again.
public struct WaitingDeliveries: Equatable, Sendable {
    /// How many there are.
    public var count: Int
    /// When the oldest of them was taken over from the topic, milliseconds since 1970; nil without any.
    public var oldestMilliseconds: Int64?

    /// For how long the oldest has been waiting, in seconds; nil without any.
    public func seconds(at nowMilliseconds: Int64) -> Int64? {
        oldestMilliseconds.map { max(nowMilliseconds - $0, 0) / 1000 }
    }

    /// These and those of another store.
    public func adding(_ other: WaitingDeliveries) -> WaitingDeliveries {
        WaitingDeliveries(
            count: count + other.count,
            oldestMilliseconds: [oldestMilliseconds, other.oldestMilliseconds].compactMap(\.self)
                .min())
    }
}
