import Foundation

/// The time zone of days in reports: a table of its distances from UTC, so that reports read no clock and no files.
///
/// Stored rows are hours in UTC. So the distance is always a whole number of hours, and changes at a whole hour.
package struct ReportTimeZone: Sendable {
    /// An IANA name, or `UTC`.
    package let name: String
    private let changes: [Change]

    private struct Change: Codable, Equatable {
        /// Hours since 1970 in UTC.
        let from: Int64
        /// Hours to add to UTC.
        let offset: Int64
    }

    package static let utc = ReportTimeZone(name: "UTC", changes: [])

    /// 2020 to 2100. Earlier hours have the first distance, later ones the last.
    private static let hours: Range<Int64> = 438_288..<1_139_568

    private init(name: String, changes: [Change]) {
        self.name = name
        self.changes = changes
    }

    /// Reads the rules of a zone from the system. A zone that never differs from UTC is `utc`.
    ///
    /// - Throws: a zone that does not exist, or whose days do not consist of hours in UTC.
    package init(named name: String) throws(Fault) {
        guard let zone = TimeZone(identifier: name),
            zone.identifier == name || name == Self.utc.name
        else { throw .unknown(name) }
        func seconds(_ second: Int64) -> Int64 {
            Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(second))))
        }
        var changes: [Change] = []
        func add(_ from: Int64) throws(Fault) {
            let (offset, rest) = seconds(from * 3600).quotientAndRemainder(dividingBy: 3600)
            let last = changes.last?.offset ?? offset
            // The clock must neither change within an hour nor return to the day before.
            guard rest == 0, changes.isEmpty || seconds(from * 3600 - 1) == last * 3600,
                (from + offset) / 24 >= (from - 1 + last) / 24
            else { throw .partsOfHours(name) }
            changes.append(Change(from: from, offset: offset))
        }
        try add(Self.hours.lowerBound)
        // Every distance holds for more than a day.
        for end in stride(from: Self.hours.lowerBound + 24, through: Self.hours.upperBound, by: 24)
        {
            guard let last = changes.last?.offset, seconds(end * 3600) != last * 3600 else {
                continue
            }
            var (before, after) = (end - 24, end)
            while after - before > 1 {
                let middle = (before + after) / 2
                if seconds(middle * 3600) == last * 3600 { before = middle } else { after = middle }
            }
            try add(after)
        }
        let differs = changes.contains { $0.offset != 0 }
        self = differs ? ReportTimeZone(name: name, changes: changes) : .utc
    }

    package var isUTC: Bool { changes.isEmpty }

    /// The hours to add to an hour in UTC.
    ///
    /// - Parameter hour: hours since 1970 in UTC.
    package func offset(at hour: Int64) -> Int64 {
        var (low, high) = (0, changes.count)
        while low < high {
            let middle = (low + high) / 2
            if changes[middle].from <= hour { low = middle + 1 } else { high = middle }
        }
        return changes.isEmpty ? 0 : changes[max(low - 1, 0)].offset
    }

    /// Why a zone cannot be used, and what to do. The text follows the name of the key or option.
    package enum Fault: Error, CustomStringConvertible {
        case unknown(String)
        case partsOfHours(String)

        package var description: String {
            switch self {
            case .unknown(let name):
                "is '\(name)', which is not a time zone: write an IANA name, for example Europe/Berlin"
            case .partsOfHours(let name):
                "is \(name), which is not always whole hours from UTC from 2020 to 2100: rows count whole hours in UTC, so days of this zone cannot be added up; write another zone, or UTC"
            }
        }
    }
}

extension ReportTimeZone: Hashable {
    package static func == (left: ReportTimeZone, right: ReportTimeZone) -> Bool {
        left.name == right.name && left.changes == right.changes
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// As evidence records it, so that it can be verified on a machine with other rules of time zones.
extension ReportTimeZone: Codable {
    private enum CodingKeys: String, CodingKey {
        case name, changes
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        name = try values.decode(String.self, forKey: .name)
        changes = try values.decode([Change].self, forKey: .changes)
        let isInOrder = zip(changes, changes.dropFirst()).allSatisfy { $0.from < $1.from }
        guard isInOrder, changes.allSatisfy({ (-24...24).contains($0.offset) }) else {
            throw DecodingError.dataCorruptedError(
                forKey: .changes, in: values,
                debugDescription: "the changes are not those of a zone")
        }
    }
}

extension ConfigurationNode {
    func timeZone() throws(ConfigurationError) -> ReportTimeZone {
        let name = try text("a time zone")
        do throws(ReportTimeZone.Fault) {
            return try ReportTimeZone(named: name)
        } catch {
            throw badValue("\(error)")
        }
    }
}
