import Store
import Streams
import Synchronization

/// A cache of values that are valid for one version each. The values that were not used for the longest time make room.
final class VersionedCache<Key: Hashable & Sendable, Value: KeptValue>: Sendable {
    private struct Entry {
        let value: Value
        let version: Value.Version
        var lastUse: Int
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var byteCount = 0
        var uses = 0
    }

    private let mostBytes: Int
    private let state = Mutex(State())
    private let load: @Sendable (Key, Value.Version) -> Value?
    private let save: @Sendable (Key, Value.Version, Value) -> Void

    /// - Parameters:
    ///   - mostBytes: the approximate memory of all values.
    ///   - load: returns a value from outside of the memory.
    ///   - save: is called with each new value.
    init(
        mostBytes: Int, load: @escaping @Sendable (Key, Value.Version) -> Value? = { _, _ in nil },
        save: @escaping @Sendable (Key, Value.Version, Value) -> Void = { _, _, _ in }
    ) {
        self.mostBytes = mostBytes
        self.load = load
        self.save = save
    }

    func value(_ key: Key, _ version: Value.Version) -> Value? {
        let known = state.withLock { state -> Value? in
            state.uses += 1
            guard let entry = state.entries[key], entry.version == version else { return nil }
            state.entries[key]?.lastUse = state.uses
            return entry.value
        }
        if let known { return known }
        guard let value = load(key, version) else { return nil }
        remember(value, key, version)
        return value
    }

    func keep(_ value: Value, _ key: Key, _ version: Value.Version) {
        remember(value, key, version)
        save(key, version, value)
    }

    private func remember(_ value: Value, _ key: Key, _ version: Value.Version) {
        state.withLock { state in
            state.uses += 1
            state.byteCount -= state.entries.removeValue(forKey: key)?.value.byteCount ?? 0
            guard value.byteCount <= mostBytes else { return }
            state.entries[key] = Entry(value: value, version: version, lastUse: state.uses)
            state.byteCount += value.byteCount
            guard state.byteCount > mostBytes else { return }
            // Makes room for many at once.
            for old in state.entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) {
                guard state.byteCount > mostBytes / 4 * 3 else { break }
                state.byteCount -= old.value.value.byteCount
                state.entries[old.key] = nil
            }
        }
    }
}

/// A value of a cache.
protocol KeptValue: Sendable {
    /// The state in which a value was computed.
    associatedtype Version: Equatable & Sendable
    /// Bytes in memory, about.
    var byteCount: Int { get }
}

/// A value that is computed from the records of a day or an hour of a store.
///
/// Most streams count a record in its hour, and no other record changes the hour's rows. So a value of an hour stays
/// valid as long as the store has the same records of the hour: their number, their offsets, and the fingerprints of
/// the first and the last. Values of other tables stay valid until the next commit.
protocol UnitValue: WrittenValue where Version == UnitVersion {}

/// A value that a file can have too.
protocol WrittenValue: KeptValue where Version: DigestedVersion {
    /// Nil for a value that cannot be written.
    var written: [UInt8]? { get }
    init(_ reader: inout KeptReader) throws
}

/// A version that is the same in another process.
protocol DigestedVersion {
    var digest: ContentDigest { get }
}

/// - Parameter Content: its description says what the values are.
struct UnitKey<Content: Hashable & Sendable & CustomStringConvertible>: Hashable,
    CustomStringConvertible
{
    let path: String
    let partitions: [Int32]
    let content: Content
    /// A day or an hour; empty for all rows.
    let time: String

    init(_ slice: StoreSlice, _ content: Content, time: String) {
        path = slice.snapshot.path
        partitions = slice.partitions.map(\.partition)
        self.content = content
        self.time = time
    }

    var description: String { "\(path) \(partitions) \(content) \(time)" }
}

typealias UnitCache<Content, Value: UnitValue> = VersionedCache<UnitKey<Content>, Value>
where Content: Hashable & Sendable & CustomStringConvertible

extension VersionedCache where Value: WrittenValue, Key: CustomStringConvertible {
    /// A cache whose values are also in a file.
    ///
    /// - Parameter prepare: reads the numbers in a value.
    convenience init(
        _ name: String, mostBytes: Int, in file: SumsFile?,
        prepare: @escaping @Sendable (Key) -> Void = { _ in }
    ) {
        guard let file else {
            self.init(mostBytes: mostBytes)
            return
        }
        self.init(mostBytes: mostBytes) { key, version in
            prepare(key)
            guard var reader = file.reader("\(name) \(key)", version.digest) else { return nil }
            return try? Value(&reader)
        } save: { key, version, value in
            guard value.written != nil else { return }
            file.note("\(name) \(key)", version.digest) { value.written ?? [] }
        }
    }
}

extension VersionedCache where Value: UnitValue {
    /// The values of days and hours, in order. Missing ones are read at once, and kept.
    ///
    /// - Parameters:
    ///   - units: their texts, and their versions; nil for a value that must not be kept.
    ///   - read: returns the values of missing units. A unit without a value has the empty one.
    func values<Content>(
        of slice: StoreSlice, _ content: Content, _ units: [(text: String, version: UnitVersion?)],
        empty: Value, reading read: (_ missing: Set<String>) throws -> [String: Value]
    ) throws -> [Value] where Key == UnitKey<Content> {
        func key(_ text: String) -> Key { UnitKey(slice, content, time: text) }
        var found = units.map { unit in unit.version.flatMap { value(key(unit.text), $0) } }
        let missing = Set(units.indices.filter { found[$0] == nil }.map { units[$0].text })
        guard !missing.isEmpty else { return found.compactMap(\.self) }
        let values = try read(missing)
        for (index, unit) in units.enumerated() where found[index] == nil {
            let value = values[unit.text] ?? empty
            found[index] = value
            if let version = unit.version { keep(value, key(unit.text), version) }
        }
        return found.compactMap(\.self)
    }
}

/// The state of a store in which a value was computed.
struct UnitVersion: DigestedVersion, Equatable {
    let digest: ContentDigest

    /// The version of a day or an hour.
    ///
    /// - Parameter append: what else the value depends on.
    init(
        _ hours: FoldedHours, _ unit: FoldedHours.Unit,
        _ append: (inout ContentDigest.Parts) -> Void = { _ in }
    ) {
        digest = ContentDigest {
            $0.append(hours.identity)
            $0.append(unit.digest)
            append(&$0)
        }
    }

    /// The version of all records.
    init(_ hours: FoldedHours, of slice: StoreSlice) {
        digest = ContentDigest {
            $0.append(hours.identity)
            for state in slice.partitions {
                $0.append(Int64(state.partition))
                $0.append(state.nextOffset)
                $0.append(state.lastRecord)
            }
        }
    }
}

/// The hours of stores with the digests of their records.
final class HourLedgers: Sendable {
    private struct Key: Hashable {
        let path: String
        let partitions: [Int32]
    }

    private let ledgers = Mutex<[Key: HourLedger]>([:])

    /// The hours of a slice; nil if the file is not in place any more.
    func hours(of slice: StoreSlice) throws -> FoldedHours? {
        guard let identity = try slice.snapshot.foldIdentity() else { return nil }
        let key = Key(path: slice.snapshot.path, partitions: slice.partitions.map(\.partition))
        let known = ledgers.withLock { $0[key] }
        guard var ledger = known, ledger.identity == identity else {
            let ledger = try HourLedger(of: slice, identity: identity)
            ledgers.withLock { $0[key] = ledger }
            return ledger.hours
        }
        guard !ledger.isAt(slice.partitions) else { return ledger.hours }
        guard try ledger.advance(to: slice) else {
            // Another state, perhaps an earlier one that another page has begun to read.
            return try HourLedger(of: slice, identity: identity).hours
        }
        let advanced = ledger
        ledgers.withLock { ledgers in
            guard ledgers[key]?.isAhead(of: advanced) != true else { return }
            ledgers[key] = advanced
        }
        return advanced.hours
    }
}
