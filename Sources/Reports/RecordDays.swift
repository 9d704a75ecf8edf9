import Store
import Streams

/// The days on which streams have records. On another day nothing is known of a stream: it was not connected yet, or it
/// was down. A number of that day is not 0.
package struct RecordDays: Sendable {
    private let days: [String: Set<String>]

    fileprivate init(_ days: [String: Set<String>]) { self.days = days }

    /// Whether each of the streams has a record on a day.
    package func have(_ day: String, _ streams: [String]) -> Bool {
        streams.allSatisfy { days[$0]?.contains(day) == true }
    }

    /// The first day of any of the streams.
    package func first(of streams: [String]) -> String? {
        streams.compactMap { days[$0]?.min() }.min()
    }
}

extension OpenStores {
    /// The days on which these streams have records that are not dated ahead of the clock.
    package func recordDays(of streams: [String]) throws -> RecordDays {
        try withSlices(of: streams) { slices in
            var days: [String: Set<String>] = [:]
            for slice in slices {
                for state in slice.partitions {
                    for range in try slice.snapshot.hours(of: state.partition)
                    where slice.present?.isAhead(range.hour.startMilliseconds) != true {
                        let day = String(range.hour.text.prefix { $0 != "T" })
                        days[slice.stream, default: []].insert(day)
                    }
                }
            }
            return RecordDays(days)
        }
    }
}
