import AggregateStore
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
        let plan = try DumpPlan(counting: query)
        try self.init(
            of: plan.description.streams, directories, start, end, hours
        ) { MeasuredTable(try $0.dump(plan)) }
    }

    /// Compares the funnel. Computed columns and the refunds of apps are left out.
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

/// The sums of one set of stores over the records up to an instant.
private struct State {
    let table: MeasuredTable
    let streams: [FoldedStream]

    /// Why the set that replaced this one says something else.
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

/// Why sums differ at a later instant: parts that add up to the difference.
struct ChangeSum {
    /// Why a set of stores says something else of the same records than the one it replaced.
    enum Cause {
        /// It was folded under another configuration.
        case configuration
        /// It was folded under the same configuration: a mistake was corrected, or lost records are
        /// there again.
        case correction
    }

    /// One measure of a row.
    struct Line {
        let columns: [StoredValue]
        let key: RowKeyBytes
        let measure: Int
        fileprivate(set) var from = Int128(0)
        fileprivate(set) var laterRecords = Int128(0)
        fileprivate(set) var configuration = Int128(0)
        fileprivate(set) var correction = Int128(0)

        /// The sum at the later instant.
        var to: Int128 { from + laterRecords + configuration + correction }

        fileprivate init(columns: [StoredValue], key: RowKeyBytes, measure: Int) {
            self.columns = columns
            self.key = key
            self.measure = measure
        }

        fileprivate mutating func add(_ difference: Int128, _ cause: Cause) {
            switch cause {
            case .configuration: configuration += difference
            case .correction: correction += difference
            }
        }

        fileprivate mutating func add(_ other: Line) {
            from += other.from
            laterRecords += other.laterRecords
            configuration += other.configuration
            correction += other.correction
        }

        fileprivate var isChanged: Bool {
            laterRecords != 0 || configuration != 0 || correction != 0
        }
    }

    let columns: [DumpColumn]
    let measures: [String]
    private var lines: [LineKey: Line] = [:]

    /// Starts with the sums of the set in force at the earlier instant, over the records before it.
    init(_ table: MeasuredTable) {
        columns = table.columns
        measures = table.measures
        add(table, sign: 1) { $0.from += $1 }
    }

    /// Adds the difference that a new set made for the same records.
    mutating func replace(_ old: MeasuredTable, by new: MeasuredTable, _ cause: Cause) {
        add(new, sign: 1) { $0.add($1, cause) }
        add(old, sign: -1) { $0.add($1, cause) }
    }

    /// Adds the records between the two instants, all of one set.
    mutating func advance(from old: MeasuredTable, to new: MeasuredTable) {
        add(new, sign: 1) { $0.laterRecords += $1 }
        add(old, sign: -1) { $0.laterRecords += $1 }
    }

    private mutating func add(
        _ table: MeasuredTable, sign: Int128, _ body: (inout Line, Int128) -> Void
    ) {
        for row in table.rows {
            let key = RowKeyBytes(row.columns)
            for (measure, amount) in row.measures.enumerated() where amount != 0 {
                let empty = Line(columns: row.columns, key: key, measure: measure)
                body(&lines[LineKey(row: key, measure: measure), default: empty], sign * amount)
            }
        }
    }

    /// The changed lines, the largest difference first, then in order of columns and measures.
    var changes: [Line] {
        lines.values.filter(\.isChanged).sorted { left, right in
            let sizes = ((left.to - left.from).magnitude, (right.to - right.from).magnitude)
            guard sizes.0 == sizes.1 else { return sizes.0 > sizes.1 }
            return left.key == right.key ? left.measure < right.measure : left.key < right.key
        }
    }
}

private struct LineKey: Hashable {
    let row: RowKeyBytes
    let measure: Int
}

extension ChangeSum {
    /// One line for each changed row and measure, then one for each measure with the totals of
    /// these. Columns of totals are null, except the currency of amounts.
    var report: ReportTable {
        let parts = [
            "value_from", "later_records", "configuration", "correction", "value_to",
        ]
        let changes = changes
        return ReportTable(
            columns: [ReportTable.Column("line")] + columns.map(\.reportColumn)
                + [ReportTable.Column("measure")]
                + parts.map { ReportTable.Column($0, isNumber: true) },
            rows: changes.map { line in
                [.text("row")] + zip(columns, line.columns).map { $0.reportValue($1) }
                    + numbers(of: line)
            } + totals(of: changes))
    }

    /// Amounts of different currencies are never added where the currency is a column.
    private func totals(of changes: [Line]) -> [[ReportValue]] {
        let currencyPlace = columns.firstIndex { $0.name == "currency" }
        var totals: [LineKey: Line] = [:]
        for line in changes {
            let isMoney = measures[line.measure].hasSuffix("_micros")
            let currency = isMoney ? currencyPlace.map { line.columns[$0] } : nil
            let group: [StoredValue] =
                [.integer(Int64(line.measure))] + (currency.map { [$0] } ?? [])
            let key = RowKeyBytes(group)
            totals[
                LineKey(row: key, measure: line.measure),
                default: Line(columns: currency.map { [$0] } ?? [], key: key, measure: line.measure)
            ].add(line)
        }
        return totals.values.sorted { $0.key < $1.key }.map { total in
            [.text("total")]
                + columns.indices.map { place in
                    guard place == currencyPlace, let currency = total.columns.first else {
                        return .null
                    }
                    return .text(currency.text)
                } + numbers(of: total)
        }
    }

    private func numbers(of line: Line) -> [ReportValue] {
        [.text(measures[line.measure])]
            + [line.from, line.laterRecords, line.configuration, line.correction, line.to].map {
                .integer($0)
            }
    }
}
