import Store
import Streams

/// Whole hours without records of a stream that usually has some.
package struct StreamOutage: Equatable, Sendable {
    package let stream: String
    /// The first silent hour.
    package let first: Hour
    /// The first hour with records again; nil while it lasts.
    package let end: Hour?
    /// The number of silent hours so far.
    package let hours: Int64

    /// Shorter silences are chance in streams of a few records an hour.
    private static let leastHours: Int64 = 3
    /// The first days of a stream, in which few records arrive. A silence that ends within them is not listed.
    package static let startDays: Int64 = 4
    /// The share of silences, the shortest first, that are usual.
    private static let usualShare = 0.99

    /// The outages among the hours with records: silences more than twice as long as 99 of 100 of them. So nights of a
    /// quiet stream are usual, and an outage stays one however often it happened.
    ///
    /// - Parameters:
    ///   - active: hours with records, in hours since 1970, ascending and distinct.
    ///   - present: the current hour, which is not over.
    package static func all(
        _ stream: String, active: [Int64], present: Int64
    ) -> [StreamOutage] {
        guard active.count > 1 else { return [] }
        let silences = zip(active, active.dropFirst()).map { $1 - $0 - 1 }.sorted()
        let usual = silences[Int(Double(silences.count - 1) * usualShare)]
        let least = max(leastHours, 2 * usual + 1)
        let following = active.dropFirst().map(Int64?.some) + [nil]
        return zip(active, following).compactMap { last, next -> StreamOutage? in
            let hours = (next ?? present) - last - 1
            let isOfStart = next.map { $0 - active[0] <= startDays * 24 } ?? false
            guard hours >= least, !isOfStart else { return nil }
            return StreamOutage(
                stream: stream, first: Hour(hoursSince1970: last + 1),
                end: next.map { Hour(hoursSince1970: $0) }, hours: hours)
        }
    }
}

extension OpenStores {
    /// The outages of all streams, in order of their beginnings. Costs are not reported by the hour and are left out.
    ///
    /// - Parameter nowMilliseconds: the clock; later records are ignored.
    package func outages(nowMilliseconds now: Int64) throws -> [StreamOutage] {
        let present = Hour(containing: now).hoursSince1970
        return try Self.streams.filter { $0 != CostsFold.streamName }.flatMap { stream in
            do {
                return try withSlices(of: [stream]) { slices in
                    let hours = try slices.flatMap { try $0.recordHours() }
                        .map(\.hoursSince1970)
                    return StreamOutage.all(
                        stream, active: Set(hours.filter { $0 <= present }).sorted(),
                        present: present)
                }
            } catch InspectionError.noStore {
                return []
            }
        }.sorted { ($0.first, $0.stream) < ($1.first, $1.stream) }
    }
}
