/// What ends a worker's work early beside a stop, such as a promotion that wants its store: looked at a few
/// times a second.
struct Interruption {
    private static let interval = Duration.milliseconds(100)

    private let isWanted: () -> Bool
    private var lastLook = ContinuousClock.now
    /// Whether it was seen.
    private(set) var isMade = false

    /// Asks `isWanted` now and then; by default nothing interrupts.
    init(_ isWanted: @escaping () -> Bool = { false }) {
        self.isWanted = isWanted
    }

    /// Whether to end; looks again when it has not for a while.
    mutating func look() -> Bool {
        let now = ContinuousClock.now
        guard !isMade, lastLook.duration(to: now) >= Self.interval else { return isMade }
        lastLook = now
        isMade = isWanted()
        return isMade
    }
}
