/// How far a partition of the topic is read.
struct TopicProgress: Equatable {
    /// The first record that is not read yet.
    var nextOffset: Int64
    /// The latest instant of its updates, milliseconds since 1970: the partition's time, by which installs
    /// are forgotten. It follows from the log and never goes back.
    var latestMilliseconds: Int64 = .min

    /// Passes over a record with an update of this instant.
    mutating func pass(_ offset: Int64, atMilliseconds instant: Int64?) {
        nextOffset = offset + 1
        latestMilliseconds = max(latestMilliseconds, instant ?? .min)
    }

    /// What is still known of an install at an instant; nil when it is forgotten by then.
    func known(_ state: InstallState?, atMilliseconds instant: Int64) -> InstallState? {
        guard let state, max(latestMilliseconds, instant) < state.expiryMilliseconds else {
            return nil
        }
        return state
    }
}
