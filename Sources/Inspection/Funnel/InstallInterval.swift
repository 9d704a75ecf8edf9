/// When the installs of some postbacks took place, as whole hours.
struct InstallInterval {
    /// The earliest hour's beginning, in milliseconds since 1970; nil when it is not known.
    private(set) var earliestMilliseconds: Int64?
    /// The latest hour's end.
    private(set) var latestMilliseconds: Int64?
    private var isEarliestUnknown = false

    /// Of no postback.
    init() {}

    /// - Parameters:
    ///   - earliest: nil when it is not known.
    ///   - latest: the end.
    init(earliest: Int64?, latest: Int64) {
        earliestMilliseconds = earliest
        latestMilliseconds = latest
        isEarliestUnknown = earliest == nil
    }

    mutating func formUnion(_ other: InstallInterval) {
        guard let otherLatest = other.latestMilliseconds else { return }
        isEarliestUnknown = isEarliestUnknown || other.isEarliestUnknown
        let earliest = [earliestMilliseconds, other.earliestMilliseconds].compactMap { $0 }.min()
        earliestMilliseconds = isEarliestUnknown ? nil : earliest
        latestMilliseconds = max(latestMilliseconds ?? otherLatest, otherLatest)
    }
}
