import Store
import Streams
import Synchronization

/// A cache of the funnel's cells by day and hour.
///
/// Most streams count a record in its hour, and no other record changes the hour's rows. So the cells of an hour stay
/// valid as long as the store has the same records of the hour: their number, their offsets, and the fingerprints of
/// the first and the last. Cells of other streams stay valid until the next commit.
final class FunnelCellCache: Sendable {
    struct Key: Hashable {
        let path: String
        let partitions: [Int32]
        let basis: FunnelBasis
        /// A day or an hour; empty for all rows.
        let time: String
    }

    /// The state of a store in which cells were read.
    struct Version: Equatable {
        let identity: String
        /// The next offsets of partitions, for cells that any record may change.
        let offsets: [Int64]
        /// The version of the hours, for other cells.
        let number: Int
    }

    private struct Entry {
        let version: Version
        let cells: FunnelCells
        var lastUse: Int
    }

    private struct LedgerKey: Hashable {
        let path: String
        let partitions: [Int32]
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var byteCount = 0
        var uses = 0
        var ledgers: [LedgerKey: HourLedger] = [:]
    }

    private static let mostBytes = 256 << 20

    let numbers = FunnelNumbers()
    private let state = Mutex(State())
    private let lastVersion = Mutex(0)

    func cells(_ key: Key, _ version: Version) -> FunnelCells? {
        state.withLock { state in
            state.uses += 1
            guard let entry = state.entries[key], entry.version == version else { return nil }
            state.entries[key]?.lastUse = state.uses
            return entry.cells
        }
    }

    func keep(_ cells: FunnelCells, _ key: Key, _ version: Version) {
        state.withLock { state in
            state.uses += 1
            let entry = Entry(version: version, cells: cells, lastUse: state.uses)
            state.byteCount -= state.entries.removeValue(forKey: key)?.cells.byteCount ?? 0
            guard cells.byteCount <= Self.mostBytes else { return }
            state.entries[key] = entry
            state.byteCount += cells.byteCount
            guard state.byteCount > Self.mostBytes else { return }
            // Makes room for many at once.
            for old in state.entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) {
                guard state.byteCount > Self.mostBytes / 4 * 3 else { break }
                state.byteCount -= old.value.cells.byteCount
                state.entries[old.key] = nil
            }
        }
    }

    /// The hours of a slice with the versions of their records; nil if the file is not in place any more.
    func hours(of slice: StoreSlice) throws -> FoldedHours? {
        guard let identity = try slice.snapshot.foldIdentity() else { return nil }
        let key = LedgerKey(
            path: slice.snapshot.path, partitions: slice.partitions.map(\.partition))
        let version = lastVersion.withLock { last in
            last += 1
            return last
        }
        let known = state.withLock { $0.ledgers[key] }
        guard var ledger = known, ledger.identity == identity else {
            let ledger = try HourLedger(of: slice, identity: identity, version: version)
            state.withLock { $0.ledgers[key] = ledger }
            return ledger.hours
        }
        guard !ledger.isAt(slice.partitions) else { return ledger.hours }
        guard try ledger.advance(to: slice, version: version) else {
            // Another state, perhaps an earlier one that another page has begun to read.
            let other = try HourLedger(of: slice, identity: identity, version: version)
            return other.hours(comparedWith: ledger)
        }
        let advanced = ledger
        state.withLock { state in
            guard state.ledgers[key]?.isAhead(of: advanced) != true else { return }
            state.ledgers[key] = advanced
        }
        return advanced.hours
    }
}
