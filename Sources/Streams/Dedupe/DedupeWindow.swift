/// The recently seen ids of one partition, in memory.
///
/// An entry is alive while its timestamp is at least the watermark minus the window. The watermark is the largest
/// record timestamp of the partition so far. Memory follows the number of alive entries: an entry has 24 bytes, tables
/// stay between 0.64 and 0.8 full, and a full table drops its dead entries.
package final class DedupeWindow {
    /// An id with the timestamp of its first occurrence.
    package struct Entry: Equatable, Sendable {
        package var id: RecordID
        package var timestampMilliseconds: Int64

        package init(id: RecordID, timestampMilliseconds: Int64) {
            self.id = id
            self.timestampMilliseconds = timestampMilliseconds
        }
    }

    /// The lifetime of an entry, in milliseconds of event time.
    package let windowMilliseconds: Int64
    /// The largest record timestamp of the partition so far, in milliseconds since 1970.
    package private(set) var watermarkMilliseconds: Int64
    /// The ids admitted since `forgetAdmitted`, in order; they are still to be stored.
    package private(set) var admitted: [Entry] = []
    private var segments: [DedupeSegment]

    package init(windowMilliseconds: Int64, watermarkMilliseconds: Int64 = 0) {
        self.windowMilliseconds = windowMilliseconds
        self.watermarkMilliseconds = watermarkMilliseconds
        segments = (0..<256).map { _ in DedupeSegment() }
    }

    package var horizonMilliseconds: Int64 {
        watermarkMilliseconds.subtractingReportingOverflow(windowMilliseconds).partialValue
    }

    /// The number of entries, including dead ones that are not dropped yet.
    package var heldCount: Int { segments.reduce(0) { $0 + $1.count } }

    /// Advances the watermark to a record's timestamp, accepted or not.
    @inline(__always)
    package func advance(to timestampMilliseconds: Int64) {
        if timestampMilliseconds > watermarkMilliseconds {
            watermarkMilliseconds = timestampMilliseconds
        }
    }

    /// Returns whether the id is new, and remembers it. Call `advance` first.
    @inline(__always)
    package func admit(_ id: RecordID, timestampMilliseconds: Int64) -> Bool {
        let entry = Entry(id: id, timestampMilliseconds: timestampMilliseconds)
        guard hold(entry) else { return false }
        admitted.append(entry)
        return true
    }

    /// Returns `admitted` and empties it; the ids stay remembered.
    func takeAdmitted() -> [Entry] {
        defer { admitted = [] }
        return admitted
    }

    /// Empties `admitted`; the ids stay remembered.
    package func forgetAdmitted() {
        admitted.removeAll(keepingCapacity: true)
    }

    @inline(__always)
    private func hold(_ entry: Entry) -> Bool {
        segments[Int(entry.id.high >> 56)].admit(entry, horizonMilliseconds: horizonMilliseconds)
    }

    /// Forgets the id of a rejected record.
    package func remove(_ id: RecordID) {
        segments[Int(id.high >> 56)].remove(id)
    }

    package func restore(_ entry: Entry) {
        _ = hold(entry)
    }

    /// Drops dead entries; returns the number of alive ones.
    package func sweep() -> Int {
        for index in segments.indices { segments[index].sweep(horizonMilliseconds) }
        return heldCount
    }

    /// The alive entries, ordered by id.
    package func aliveEntries() -> [Entry] {
        segments.flatMap { $0.entries(notBefore: horizonMilliseconds) }.sorted { $0.id < $1.id }
    }
}

/// A part of a `DedupeWindow`: open addressing in the order of the hash, so that a search for a missing id ends early
/// even in a full table.
final class DedupeSegment {
    private typealias Entry = DedupeWindow.Entry

    /// Marks a free slot; records cannot have this timestamp.
    private static var free: Int64 { .min }

    /// Slots after the spread. The number of ids that overflow into them depends on the fill of the segment, not on its
    /// size. At 0.8 it exceeds 32 about once in a million times; then the spread grows.
    private static var overflow: Int { 32 }

    private var slots: UnsafeMutableBufferPointer<DedupeWindow.Entry>
    /// The number of slots that ids are spread over. The slots after it take the overflow at the end.
    private var spread: Int
    private(set) var count = 0

    init() {
        spread = 0
        slots = UnsafeMutableBufferPointer(start: nil, count: 0)
    }

    deinit {
        slots.deallocate()
    }

    @inline(__always)
    private func home(_ id: RecordID, spread: Int) -> Int {
        Int(id.low.multipliedFullWidth(by: UInt64(spread)).high)
    }

    @inline(__always)
    private func comesBefore(_ left: RecordID, _ right: RecordID) -> Bool {
        left.low < right.low || (left.low == right.low && left.high < right.high)
    }

    /// The slot of the id, or the slot where it belongs.
    @inline(__always)
    private func slot(of id: RecordID) -> Int {
        var slot = home(id, spread: spread)
        while slot < slots.count, slots[slot].timestampMilliseconds != Self.free,
            comesBefore(slots[slot].id, id)
        {
            slot += 1
        }
        return slot
    }

    func admit(_ entry: DedupeWindow.Entry, horizonMilliseconds: Int64) -> Bool {
        if count * 5 >= spread * 4 { makeRoom(horizonMilliseconds) }
        let slot = slot(of: entry.id)
        if slot < slots.count, slots[slot].timestampMilliseconds != Self.free,
            slots[slot].id == entry.id
        {
            if slots[slot].timestampMilliseconds >= horizonMilliseconds { return false }
            slots[slot].timestampMilliseconds = entry.timestampMilliseconds
            return true
        }
        insert(entry, at: slot, horizonMilliseconds)
        return true
    }

    private func insert(
        _ entry: DedupeWindow.Entry, at slot: Int, _ horizonMilliseconds: Int64
    ) {
        var end = slot
        while end < slots.count, slots[end].timestampMilliseconds != Self.free { end += 1 }
        guard end < slots.count else {
            rebuild(spread: spread + spread / 4 + 16, notBefore: horizonMilliseconds)
            insert(entry, at: self.slot(of: entry.id), horizonMilliseconds)
            return
        }
        while end > slot {
            slots[end] = slots[end - 1]
            end -= 1
        }
        slots[slot] = entry
        count += 1
    }

    func remove(_ id: RecordID) {
        let slot = slot(of: id)
        guard slot < slots.count, slots[slot].timestampMilliseconds != Self.free,
            slots[slot].id == id
        else { return }
        slots[slot].timestampMilliseconds = Self.free
        rebuild(spread: spread, notBefore: Self.free + 1)
    }

    func sweep(_ horizonMilliseconds: Int64) {
        rebuild(spread: spread, notBefore: horizonMilliseconds)
    }

    func entries(notBefore horizonMilliseconds: Int64) -> [DedupeWindow.Entry] {
        let oldest = max(horizonMilliseconds, Self.free + 1)
        return slots.filter { $0.timestampMilliseconds >= oldest }
    }

    private func makeRoom(_ horizonMilliseconds: Int64) {
        let oldest = max(horizonMilliseconds, Self.free + 1)
        let alive = slots.reduce(0) { $0 + ($1.timestampMilliseconds >= oldest ? 1 : 0) }
        let wanted = alive * 16 >= spread * 11 ? max(spread * 5 / 4, 16) : alive + alive / 2 + 16
        rebuild(spread: wanted, notBefore: oldest)
    }

    /// Moves the alive entries to new slots.
    private func rebuild(spread: Int, notBefore horizonMilliseconds: Int64) {
        var spread = spread
        while !move(spread: spread, notBefore: max(horizonMilliseconds, Self.free + 1)) {
            spread += spread / 4 + 16
        }
    }

    /// Entries arrive in the order of their slots, so each follows the previous one. Returns false without moving
    /// anything if they do not fit.
    private func move(spread: Int, notBefore oldestMilliseconds: Int64) -> Bool {
        let moved = UnsafeMutableBufferPointer<Entry>.allocate(capacity: spread + Self.overflow)
        moved.initialize(
            repeating: Entry(
                id: RecordID(high: 0, low: 0), timestampMilliseconds: Self.free))
        var movedCount = 0
        var next = 0
        for entry in slots where entry.timestampMilliseconds >= oldestMilliseconds {
            next = max(next, home(entry.id, spread: spread))
            guard next < moved.count else {
                moved.deallocate()
                return false
            }
            moved[next] = entry
            next += 1
            movedCount += 1
        }
        slots.deallocate()
        slots = moved
        count = movedCount
        self.spread = spread
        return true
    }
}
