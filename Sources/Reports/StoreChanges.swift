import Store
import Streams

/// The values of a report at two instants, with the causes of their difference.
package struct StoreChanges: Sendable {
    /// One line for each changed row and measure, then the totals.
    package let table: ReportTable
    /// The promotions in between: time, stream, old and new store.
    package let notices: [String]

    /// Compares a dump at two instants.
    ///
    /// At each instant the stores in force count, limited to records with an earlier timestamp. For each promotion in
    /// between, the new stores' sums minus the old ones', over the records before the first instant, count as
    /// configuration if that differed, otherwise as correction. The records between the instants added the rest.
    ///
    /// - Parameters:
    ///   - start: the earlier instant, in milliseconds since 1970.
    ///   - end: the later one.
    ///   - hours: folds the partial hours of the two instants.
    /// - Throws: `storeGone` when a store that was in force no longer exists; `badTimes`; `noStore`, `unknownColumn`
    ///   and similar errors.
    package init(
        _ request: ReportRequest, directories: [String], fromMilliseconds start: Int64,
        toMilliseconds end: Int64, hours: any HourFolding
    ) throws(InspectionError) {
        try self.init(
            ComparedRows(DumpFigure(counting: request)), directories: directories,
            fromMilliseconds: start, toMilliseconds: end, hours: hours)
    }

    package init(
        _ rows: ComparedRows, directories: [String], fromMilliseconds start: Int64,
        toMilliseconds end: Int64, hours: any HourFolding
    ) throws(InspectionError) {
        let streams = rows.streams
        guard start <= end else { throw .badTimes }
        func state(at instant: Int64, inForceAt promotion: Int64) throws(InspectionError) -> State {
            let set = try OpenStores(
                directories: directories, asOf: AsOf(milliseconds: instant, hours: hours),
                inForceAtMilliseconds: promotion)
            return try set.view(of: streams) { view in
                State(table: try rows.read(view), streams: try view.foldedStreams())
            }
        }
        var last = try state(at: start, inForceAt: start)
        var sums = SideBySide(last.table.columns, last.table.measures, parts: Part.allCases.count)
        func add(_ table: Dump, to part: Part, less old: Dump? = nil) {
            sums.add(table, to: part.rawValue)
            if let old { sums.add(old, to: part.rawValue, sign: -1) }
        }
        add(last.table, to: .from)
        var notices: [String] = []
        for step in try Step.between(start, end, of: streams, in: directories) {
            let next = try state(at: start, inForceAt: step.atMilliseconds)
            let cause = last.cause(of: next, step.streams)
            add(next.table, to: cause, less: last.table)
            notices += step.notices(cause)
            last = next
        }
        let found = try state(at: end, inForceAt: end).table
        add(found, to: .laterRecords, less: last.table)
        add(found, to: .to)
        table = sums.report(
            sums.lines(showsEqual: false, totalsOfEqual: false),
            ["value_from", "later_records", "configuration", "correction", "value_to"])
        self.notices = notices
    }
}

/// A part of a sum at the later instant. The parts before the last add up to it.
private enum Part: Int, CaseIterable {
    /// The sum at the earlier instant.
    case from
    /// Added by records between the instants.
    case laterRecords
    /// The difference for the same records under another configuration.
    case configuration
    /// The difference of a store folded under the same configuration: a corrected error, or recovered records.
    case correction
    /// The sum at the later instant.
    case to
}

/// The sums of one set of stores over the records up to an instant.
private struct State {
    let table: Dump
    let streams: [FoldedStream]

    /// Why the next set of stores has different sums.
    func cause(of next: State, _ changed: Set<String>) -> Part {
        let differs = streams.contains { own in
            changed.contains(own.stream)
                && next.streams.contains {
                    $0.stream == own.stream && own.differsInConfiguration(from: $0)
                }
        }
        return differs ? .configuration : .correction
    }
}

/// Simultaneous promotions.
private struct Step {
    let atMilliseconds: Int64
    private(set) var streams: Set<String> = []
    private var promotions: [String] = []

    func notices(_ cause: Part) -> [String] {
        let time = UTC.text(milliseconds: atMilliseconds)
        return promotions.map { "\(time): \($0), included in \(cause)" }
    }

    /// The promotions after the start and up to the end, in order.
    static func between(
        _ start: Int64, _ end: Int64, of streams: [String], in directories: [String]
    ) throws(InspectionError) -> [Step] {
        var steps: [Int64: Step] = [:]
        for sets in try OpenStores.sets(of: directories) {
            for stream in streams {
                let promotions = sets.promotions(
                    of: stream, afterMilliseconds: start, throughMilliseconds: end)
                for (promotion, from, to) in promotions {
                    let time = promotion.atMilliseconds
                    var step = steps[time] ?? Step(atMilliseconds: time)
                    step.streams.insert(stream)
                    step.promotions.append(
                        "\(promotion.kind.rawValue) of \(stream), \(from) to \(to)")
                    steps[time] = step
                }
            }
        }
        return steps.values.sorted { $0.atMilliseconds < $1.atMilliseconds }
    }
}
