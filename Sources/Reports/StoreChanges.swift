import Store
import Streams

/// What a report said at one instant, what it says at a later one, and why it differs.
package struct StoreChanges: Sendable {
    /// One line for each changed row and measure, then the totals.
    package let table: ReportTable
    /// The promotions in between: when, of which stream, from where to where.
    package let notices: [String]

    /// Compares a dump at two instants.
    ///
    /// At each instant the stores that were in force count, with the records of an earlier
    /// timestamp. For each promotion in between, the new stores' sums less the old ones', over the
    /// records before the first instant, count as configuration when that differed, else as
    /// correction. The rest was added by the records between the instants.
    ///
    /// - Parameters:
    ///   - start: the earlier instant, in milliseconds since 1970.
    ///   - end: the later one.
    ///   - hours: folds what is there of the hours that they lie in.
    /// - Throws: `storeGone` when a store that was in force is no longer there; `badTimes`;
    ///   `noStore`, `unknownColumn` and its like.
    package init(
        _ query: DumpQuery, directories: [String], fromMilliseconds start: Int64,
        toMilliseconds end: Int64, hours: any HourFolding
    ) throws(InspectionError) {
        try self.init(
            ComparedRows(DumpFigure(counting: query)), directories: directories,
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

/// What a sum at the later instant is made of; the parts before the last add up to it.
private enum Part: Int, CaseIterable {
    /// The sum at the earlier instant.
    case from
    /// What records between the instants added.
    case laterRecords
    /// The difference for the same records that another configuration made.
    case configuration
    /// The difference that a store folded under the same configuration made: a mistake was
    /// corrected, or lost records are there again.
    case correction
    /// The sum at the later instant.
    case to
}

/// The sums of one set of stores over the records up to an instant.
private struct State {
    let table: Dump
    let streams: [FoldedStream]

    /// Why the set that replaced this one says something else.
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

/// Promotions of one moment.
private struct Step {
    let atMilliseconds: Int64
    private(set) var streams: Set<String> = []
    private var promotions: [String] = []

    func notices(_ cause: Part) -> [String] {
        let time = UTC.text(milliseconds: atMilliseconds)
        return promotions.map { "\(time): \($0): counted as \(cause)" }
    }

    /// The promotions after an instant and up to another, in order.
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
