import Synchronization

@testable import PartnerPostbacks

/// A clock that stands still until it is set.
final class ManualClock: DeliveryClock {
    private let now = Mutex<Int64>(1_700_000_000_000)

    var nowMilliseconds: Int64 { now.withLock { $0 } }

    func set(_ milliseconds: Int64) { now.withLock { $0 = milliseconds } }
}
