import AggregateStore
import Inspection
import Streams

/// Where the records lie that may have to do with a cell: the hours, and the offsets between which their
/// records are.
struct CellStretches {
    /// A partition's part.
    struct Part {
        var hours: Set<Hour> = []
        /// In order, apart from each other.
        var offsets: [Range<Int64>] = []
        /// How many records of the hours were folded.
        var records: Int64 = 0
    }

    private(set) var parts: [CellScan.Place: Part] = [:]

    /// So many hours are looked at as a whole when a time is asked for: what was left out of them may lie
    /// in others than those of the rows.
    private static let wholeHours = 48

    init(_ cell: any Cell, _ scan: CellScan, _ copies: [StreamCopy]) throws {
        var known: [CellScan.Place: [HourStretch]] = [:]
        for copy in copies {
            for state in copy.partitions {
                let place = CellScan.Place(stream: copy.stream, partition: state.partition)
                known[place] = try copy.snapshot.hours(of: state.partition).filter {
                    cell.mayCount(in: $0.hour)
                }
            }
        }
        let asked = Set(known.values.joined().map(\.hour))
        let isWhole =
            scan.hours.isEmpty || (cell.isLimitedInTime && asked.count <= Self.wholeHours)
        let counted = scan.hours.values.reduce(into: Set<Hour>()) { $0.formUnion($1) }
        for (place, stretches) in known {
            let wanted = stretches.filter { isWhole || counted.contains($0.hour) }
            guard !wanted.isEmpty else { continue }
            parts[place] = Part(
                hours: Set(wanted.map(\.hour)), offsets: Self.joined(wanted),
                records: wanted.reduce(0) { $0 + $1.records })
        }
    }

    private static func joined(_ stretches: [HourStretch]) -> [Range<Int64>] {
        var ranges: [Range<Int64>] = []
        for stretch in stretches.sorted(by: { $0.firstOffset < $1.firstOffset }) {
            let range = stretch.firstOffset..<stretch.lastOffset + 1
            if let last = ranges.last, range.lowerBound <= last.upperBound {
                ranges[ranges.count - 1] =
                    last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                ranges.append(range)
            }
        }
        return ranges
    }
}
