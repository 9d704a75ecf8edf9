import AggregateStore
import Streams

/// What a report said at one instant, what it says at a later one, and why.
package struct StoreChanges: Sendable {
    /// One line a row and measure that changed, then the totals.
    package let table: ReportTable
    /// The promotions in between: when, of which stream, from where to where.
    package let notices: [String]

    /// Asks a dump what changed between two instants.
    ///
    /// At each instant those stores count that were in force, and of their records those with an earlier
    /// timestamp. For each promotion in between, the new stores' sums less the old ones', both of the
    /// records before the first instant, are put down to the configuration when it was another one, else to
    /// a correction. What remains was added by the records between both instants.
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
        let plan = try DumpPlan(counting: query)
        try self.init(
            of: plan.description.streams, directories, start, end, hours
        ) { MeasuredTable(try $0.dump(plan)) }
    }

    /// Asks the funnel. What is worked out of sums is left out, and so are the refunds of apps.
    package init(
        funnel query: FunnelQuery, directories: [String], fromMilliseconds start: Int64,
        toMilliseconds end: Int64, hours: any HourFolding
    ) throws(InspectionError) {
        let selection = try RowSelection(query.query, of: Funnel.columns)
        try self.init(of: FunnelSource.streams, directories, start, end, hours) { view in
            MeasuredTable(try view.funnel(query, selection), columns: selection.columns)
        }
    }

    private init(
        of streams: [String], _ directories: [String], _ start: Int64, _ end: Int64,
        _ hours: any HourFolding, _ read: (StoreView) throws -> MeasuredTable
    ) throws(InspectionError) {
        guard start <= end else { throw .badTimes }
        func state(at instant: Int64, inForceAt promotion: Int64) throws(InspectionError) -> State {
            let set = try StoreSet(
                directories: directories, asOf: AsOf(milliseconds: instant, hours: hours),
                inForceAtMilliseconds: promotion)
            return try set.view(of: streams) { view in
                State(table: try read(view), streams: try view.foldedStreams())
            }
        }
        var last = try state(at: start, inForceAt: start)
        var sum = ChangeSum(last.table)
        var notices: [String] = []
        for step in try Step.between(start, end, of: streams, in: directories) {
            let next = try state(at: start, inForceAt: step.atMilliseconds)
            let cause = last.cause(of: next, step.streams)
            sum.replace(last.table, by: next.table, cause)
            notices += step.notices(cause)
            last = next
        }
        sum.advance(from: last.table, to: try state(at: end, inForceAt: end).table)
        table = sum.report
        self.notices = notices
    }
}

/// What one set of stores says of the records up to an instant.
private struct State {
    let table: MeasuredTable
    let streams: [FoldedStream]

    /// Why a set that took this one's place says something else.
    func cause(of next: State, _ changed: Set<String>) -> ChangeSum.Cause {
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
    private var words: [String] = []

    func notices(_ cause: ChangeSum.Cause) -> [String] {
        let time = UTC.text(milliseconds: atMilliseconds)
        return words.map { "\(time): \($0): counted as \(cause)" }
    }

    /// The promotions after an instant and up to another, in order.
    static func between(
        _ start: Int64, _ end: Int64, of streams: [String], in directories: [String]
    ) throws(InspectionError) -> [Step] {
        var steps: [Int64: Step] = [:]
        for directory in directories {
            let sets: StoreSets
            do throws(StoreError) {
                sets = try StoreSets(directory: directory)
            } catch {
                throw .store(error)
            }
            for stream in streams {
                let promotions = sets.promotions(
                    of: stream, afterMilliseconds: start, throughMilliseconds: end)
                for (promotion, from, to) in promotions {
                    let time = promotion.atMilliseconds
                    var step = steps[time] ?? Step(atMilliseconds: time)
                    step.streams.insert(stream)
                    step.words.append("\(promotion.kind.rawValue) of \(stream), \(from) to \(to)")
                    steps[time] = step
                }
            }
        }
        return steps.values.sorted { $0.atMilliseconds < $1.atMilliseconds }
    }
}
