import Store
import Streams

/// A stream without new records.
///
/// Rows of a dump are learned for weeks, and two silent weeks become usual for a row. A whole stream is judged from its
/// second hour on and stays silent until the next record: a complete outage never becomes usual.
struct StreamSilence {
    /// Shorter silences are left to the rows, which know the usual gaps.
    private static let leastHours: Int64 = 24

    private let topic: String
    private let newestMilliseconds: Int64
    /// The hour of its newest record, in hours since 1970.
    private let last: Int64
    private let silentHours: Int64
    /// The second longest gap between its records; a single outage does not raise it.
    private let usualHours: Int64
    /// The number of silent hours that opens a warning.
    private let mostHours: Int64

    /// Nil for a stream that is not silent, or that has records in fewer than two hours.
    ///
    /// - Parameter now: only hours that are over by then are judged; milliseconds since 1970.
    init?(_ slices: [StoreSlice], before now: Int64) throws {
        let end = Hour(containing: now).hoursSince1970
        let hours = Set(
            try slices.flatMap { try $0.recordHours() }.map(\.hoursSince1970)
        ).sorted()
        // Records of the current hour, and those dated ahead within the clock tolerance, end a silence.
        let present = Present(milliseconds: now)
        let active = hours.filter {
            !present.isAhead(Hour(hoursSince1970: $0).startMilliseconds)
        }
        guard let last = active.last, last < end, active.count > 1,
            let topic = slices.first?.snapshot.topic
        else { return nil }
        var gaps = SecondLargest()
        for (hour, next) in zip(active, active.dropFirst()) { gaps.add(Double(next - hour - 1)) }
        usualHours = Int64(gaps.value)
        mostHours = max(Self.leastHours, usualHours + (usualHours + 1) / 2)
        silentHours = end - last - 1
        guard silentHours >= mostHours else { return nil }
        self.topic = topic
        self.last = last
        let newest = try slices.compactMap { try $0.newestMilliseconds() }.max() ?? now
        let lastHour = Hour(hoursSince1970: last)
        newestMilliseconds =
            Hour(containing: newest) == lastHour ? newest : lastHour.startMilliseconds
    }

    var warning: WatchWarning {
        let opened = Hour(hoursSince1970: last + 1 + mostHours).startMilliseconds
        let since = UTC.text(milliseconds: newestMilliseconds)
        // Records in consecutive hours have no whole hour between them.
        let usual = usualHours > 0 ? "\(usualHours) h" : "less than 1 h"
        return WatchWarning(
            kind: .silence, rule: "streams", series: [.init(column: "topic", value: topic)],
            openedMilliseconds: opened, closedMilliseconds: nil,
            found: .integer(Int128(silentHours)), low: .null, high: .integer(Int128(mostHours)),
            unit: "hours",
            words:
                "no records since \(since): silent for \(silentHours) h, usual gap \(usual)",
            look: "weir dump outcomes --by hour --where topic=\(topic) --since \(since)")
    }
}
