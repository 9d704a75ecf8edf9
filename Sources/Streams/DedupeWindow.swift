/// The ids of one partition that were seen lately, in memory.
///
/// An entry is alive while its timestamp is at least the watermark less the window; the watermark is the
/// largest record timestamp of the partition so far. Memory follows the number of alive entries: an
/// entry is 24 bytes, tables are kept between 0.64 and 0.8 full, and dead entries go when a table fills.
package final class DedupeWindow {
    /// An id with the timestamp of its first sighting.
    package struct Entry: Equatable, Sendable {
        /// The id.
        package var id: RecordID
        /// Milliseconds since 1970.
        package var timestampMilliseconds: Int64

        /// Makes an entry.
        package init(id: RecordID, timestampMilliseconds: Int64) {
            self.id = id
            self.timestampMilliseconds = timestampMilliseconds
        }
    }

    /// How long an entry stays alive, in milliseconds of event time.
    package let windowMilliseconds: Int64
    /// The largest record timestamp of the partition so far, in milliseconds since 1970.
    package private(set) var watermarkMilliseconds: Int64
    /// The ids that were admitted since `forgetAdmitted`, in order: those that are to be stored.
    package private(set) var admitted: [Entry] = []
    private var segments: [DedupeSegment]

    /// Makes an empty window.
    package init(windowMilliseconds: Int64, watermarkMilliseconds: Int64 = 0) {
        self.windowMilliseconds = windowMilliseconds
        self.watermarkMilliseconds = watermarkMilliseconds
        segments = (0..<256).map { _ in DedupeSegment() }
    }

    /// Entries older than this are dead.
    package var horizonMilliseconds: Int64 {
        watermarkMilliseconds.subtractingReportingOverflow(windowMilliseconds).partialValue
    }

    /// Number of entries held, dead ones that were not yet dropped among them.
    package var heldCount: Int { segments.reduce(0) { $0 + $1.count } }

    /// Takes note of a record's timestamp, accepted or not.
    @inline(__always)
    package func advance(to timestampMilliseconds: Int64) {
        if timestampMilliseconds > watermarkMilliseconds {
            watermarkMilliseconds = timestampMilliseconds
        }
    }

    /// Says whether the id is new, and then remembers it. To be called after `advance`.
    @inline(__always)
    package func admit(_ id: RecordID, timestampMilliseconds: Int64) -> Bool {
        let entry = Entry(id: id, timestampMilliseconds: timestampMilliseconds)
        guard hold(entry) else { return false }
        admitted.append(entry)
        return true
    }

    /// Forgets which ids were admitted, and goes on remembering them.
    package func forgetAdmitted() {
        admitted.removeAll(keepingCapacity: true)
    }

    @inline(__always)
    private func hold(_ entry: Entry) -> Bool {
        segments[Int(entry.id.high >> 56)].admit(entry, horizonMilliseconds: horizonMilliseconds)
    }

    /// Forgets an id, whose record turned out to be refused.
    package func remove(_ id: RecordID) {
        segments[Int(id.high >> 56)].remove(id)
    }

    /// Puts back an entry that was stored.
    package func restore(_ entry: Entry) {
        _ = hold(entry)
    }

    /// Drops dead entries; says how many alive ones are left.
    package func sweep() -> Int {
        for index in segments.indices { segments[index].sweep(horizonMilliseconds) }
        return heldCount
    }

    /// The alive entries, ordered by id.
    package func aliveEntries() -> [Entry] {
        segments.flatMap { $0.entries(notBefore: horizonMilliseconds) }.sorted { $0.id < $1.id }
    }
}
