import GRDB
import Synchronization

/// The sums of days that were read before, for pages that show the same ones again and again.
///
/// A row of a stream with a window is of the hour that its records are of, so that nothing changes the rows of a day but
/// records of its hours. How many there are, and what the first and the last of each hour were, stands in the
/// store: sums count for a day as long as that stays, and the configurations with it.
package final class KeptDays: Sendable {
    struct Place: Hashable {
        let path: String
        /// The aggregate, its columns and its measures.
        let table: [String]
        let day: String
    }

    /// What a day's sums follow from.
    struct Origin: Equatable {
        let place: Place
        /// Of all its hours and partitions.
        let records: String
        let configurations: String
    }

    /// A row of a day: its columns, of which the time may be any of the day's, and its measures.
    typealias DayRow = (columns: [StoredValue], measures: [Int64])

    private struct Entry {
        let origin: Origin
        let rows: [DayRow]
        var lastUse: Int
    }

    private struct State {
        var entries: [Place: Entry] = [:]
        var rowCount = 0
        var uses = 0

        mutating func remove(_ place: Place) {
            rowCount -= entries.removeValue(forKey: place)?.rows.count ?? 0
        }
    }

    /// About a hundred megabytes.
    private static let mostRows = 400_000

    private let state = Mutex(State())

    package init() {}

    func rows(of origin: Origin) -> [DayRow]? {
        state.withLock { state in
            state.uses += 1
            guard let entry = state.entries[origin.place], entry.origin == origin else {
                return nil
            }
            state.entries[origin.place]?.lastUse = state.uses
            return entry.rows
        }
    }

    func keep(_ rows: [DayRow], of origin: Origin) {
        guard rows.count <= Self.mostRows else { return }
        state.withLock { state in
            state.remove(origin.place)
            while state.rowCount + rows.count > Self.mostRows {
                guard let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })
                else { break }
                state.remove(oldest.key)
            }
            state.uses += 1
            state.entries[origin.place] = Entry(origin: origin, rows: rows, lastUse: state.uses)
            state.rowCount += rows.count
        }
    }
}

/// What the sums of each day of some partitions follow from, in one state of a store.
struct DayOrigins {
    private let path: String
    private let records: [String: String]
    private let configurations: String

    init(of partitions: Set<Int32>, _ db: Database, path: String) throws {
        self.path = path
        let wanted = partitions.sorted().map(String.init).joined(separator: ", ")
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT day, group_concat(mark) FROM (
                  SELECT substr(hour, 1, instr(hour, 'T') - 1) AS day,
                    partition || ' ' || hour || ' ' || records || ' ' || first_offset || ' ' || last_offset
                      || ' ' || first_record || ' ' || last_record AS mark
                  FROM hours WHERE partition IN (\(wanted)) ORDER BY hour, partition)
                GROUP BY day
                """)
        records = Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
        configurations =
            try String.fetchOne(
                db,
                sql: """
                    SELECT group_concat(mark) FROM (
                      SELECT partition || ' ' || from_offset || ' ' || configuration_hash AS mark
                      FROM epochs WHERE partition IN (\(wanted)) ORDER BY partition, from_offset)
                    """) ?? ""
    }

    /// Nil for a day of which no records are known.
    func origin(of day: String, in table: [String]) -> KeptDays.Origin? {
        records[day].map {
            KeptDays.Origin(
                place: KeptDays.Place(path: path, table: table, day: day), records: $0,
                configurations: configurations)
        }
    }
}
