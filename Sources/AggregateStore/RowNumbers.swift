import Foundation
import Streams

/// The numbers of the rows that were written lately, by aggregate: writing to a row by its number costs a
/// third of looking for its key.
///
/// Only numbers of committed rows, and of those of the transaction under way, are here: a rollback
/// forgets all.
final class RowNumbers {
    private var tables: [String: RowNumberTable] = [:]

    func table(_ name: String) -> RowNumberTable {
        if let table = tables[name] { return table }
        let table = RowNumberTable()
        tables[name] = table
        return table
    }

    func removeAll() {
        for table in tables.values { table.removeAll() }
    }
}

/// The row numbers of one aggregate, by the bytes of the row's key. Bounded: when it is full it starts
/// anew.
final class RowNumberTable {
    private static let bound = 65_536

    private struct Entry {
        var hash: UInt64
        var start: Int
        var end: Int
        var number: Int64
    }

    private var entries: [Entry] = []
    private var slots: [Int32] = Array(repeating: -1, count: 1024)
    private var keys: [UInt8] = []
    private var key: [UInt8] = []

    func removeAll() {
        entries.removeAll(keepingCapacity: true)
        keys.removeAll(keepingCapacity: true)
        slots = Array(repeating: -1, count: slots.count)
    }

    /// Starts the key that `number` is about.
    func beginKey() {
        key.removeAll(keepingCapacity: true)
    }

    func append(_ integer: Int64) {
        withUnsafeBytes(of: integer) { key.append(contentsOf: $0) }
    }

    func append(_ text: UnsafeRawBufferPointer) {
        append(Int64(text.count))
        key.append(contentsOf: text)
    }

    func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// The number of the key's row, when it is known.
    var number: Int64? {
        get {
            let (entry, _, _) = find()
            return entry.map { entries[$0].number }
        }
        set {
            guard let newValue else { return }
            if entries.count >= Self.bound { removeAll() }
            if entries.count * 2 >= slots.count { grow() }
            let (entry, slot, hash) = find()
            guard entry == nil else { return }
            slots[slot] = Int32(entries.count)
            let start = keys.count
            keys.append(contentsOf: key)
            entries.append(
                Entry(hash: hash, start: start, end: keys.count, number: newValue))
        }
    }

    private func find() -> (entry: Int?, slot: Int, hash: UInt64) {
        let hash = key.withUnsafeBytes { RowHasher.hash($0) }
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[slot] >= 0 {
            let entry = entries[Int(slots[slot])]
            if entry.hash == hash, isKey(entry) { return (Int(slots[slot]), slot, hash) }
            slot = (slot + 1) & (slots.count - 1)
        }
        return (nil, slot, hash)
    }

    private func isKey(_ entry: Entry) -> Bool {
        guard entry.end - entry.start == key.count else { return false }
        guard !key.isEmpty else { return true }
        return keys.withUnsafeBytes { all in
            key.withUnsafeBytes { key in
                guard let left = all.baseAddress, let right = key.baseAddress else { return false }
                return memcmp(left + entry.start, right, key.count) == 0
            }
        }
    }

    private func grow() {
        slots = Array(repeating: -1, count: slots.count * 2)
        for (index, entry) in entries.enumerated() {
            var slot = Int(truncatingIfNeeded: entry.hash) & (slots.count - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = Int32(index)
        }
    }
}
