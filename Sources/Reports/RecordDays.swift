import ConfigurationValues
import Store
import Streams

/// The days on which streams have records. On other days a stream is not connected yet or is down, so numbers are
/// unknown, not 0.
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
    /// The days with records of these streams, ignoring records dated ahead of the clock.
    package func recordDays(
        of streams: [String], in zone: ReportTimeZone
    ) throws -> RecordDays {
        try withSlices(of: streams) { slices in
            var days: [String: Set<String>] = [:]
            for slice in slices {
                for hour in try slice.recordHours()
                where slice.present?.isAhead(hour.startMilliseconds) != true {
                    days[slice.stream, default: []].insert(zone.day(of: hour))
                }
            }
            return RecordDays(days)
        }
    }
}
