import Foundation

extension StoreSet {
    /// Compares an aggregate of this set, which is called A, with that of another, B.
    ///
    /// Streams that only one of them has are left out, and said.
    ///
    /// - Throws: `noStore` when they have no stream of the aggregate in common; `differentLogs` when
    ///   their offsets mean other records; `unknownDump` and its like for what cannot be asked.
    package func diff(
        _ other: StoreSet, _ question: ComparisonQuery
    ) throws(InspectionError) -> StoreComparison {
        let plan = try DumpPlan(counting: question.query)
        return try views(with: other, of: plan.description.streams) { views in
            let comparison = try views.compare(plan, question)
            return StoreComparison(
                table: comparison.report(.sets, limit: question.limit),
                differs: comparison.differs, notices: views.notices)
        }
    }

    /// Compares the funnels of two sets.
    package func diff(
        _ other: StoreSet, funnel query: FunnelQuery, _ question: ComparisonQuery
    ) throws(InspectionError) -> StoreComparison {
        let selection = try RowSelection(query.query, of: Funnel.columns)
        return try views(with: other, of: FunnelSource.streams) { views in
            let tables = try [views.first, views.second].map { view in
                MeasuredTable(try view.funnel(query, selection), columns: selection.columns)
            }
            let comparison = TableComparison(
                try tables[0].only(question.measures), try tables[1].only(question.measures),
                showsEqual: question.showsEqual)
            return StoreComparison(
                table: comparison.report(.sets, limit: question.limit),
                differs: comparison.differs, notices: views.notices)
        }
    }

    /// Compares every aggregate: one line for each measure that differs in any row.
    ///
    /// - Parameters:
    ///   - other: the set that is called B.
    ///   - query: what to ask of each dump; its name is set here.
    package func diff(
        _ other: StoreSet, everyDumpBy query: DumpQuery
    ) throws(InspectionError) -> StoreComparison {
        try views(with: other, of: Self.streams) { views in
            var rows: [[ReportValue]] = []
            for description in DumpDescription.all
            where !views.streams.isDisjoint(with: description.streams) {
                var query = query
                query.name = description.name
                let comparison = try views.compare(
                    DumpPlan(counting: query), ComparisonQuery(query))
                rows += comparison.summary(of: description.name)
            }
            let table = ReportTable(
                columns: TableComparison.summaryColumns(.sets), rows: rows)
            return StoreComparison(
                table: table, differs: !rows.isEmpty, notices: views.notices)
        }
    }

    private func views<Value>(
        with other: StoreSet, of streams: [String], _ body: (ComparedViews) throws -> Value
    ) throws(InspectionError) -> Value {
        try view(of: streams) { first in
            try other.view(of: streams) { second in
                let directories = (directories + other.directories)
                var views = try ComparedViews(
                    first, second, asked: streams, directories: directories)
                for stream in views.streams.sorted() {
                    views.note(stream, isSame: paths(of: stream), other.paths(of: stream))
                }
                return try body(views)
            }
        }
    }
}

/// One state of two sets of stores, of the streams that both have.
private struct ComparedViews {
    let first: StoreView
    let second: StoreView
    let streams: Set<String>
    private(set) var notices: [String] = []

    init(
        _ first: StoreView, _ second: StoreView, asked: [String], directories: [String]
    ) throws {
        streams = first.streams.intersection(second.streams)
        guard !streams.isEmpty else {
            throw InspectionError.nothingInCommon(streams: asked, directories: directories)
        }
        self.first = first.limited(to: streams)
        self.second = second.limited(to: streams)
        for (set, other, view) in [("A", "B", first), ("B", "A", second)] {
            for stream in view.streams.subtracting(streams).sorted() {
                notices.append("\(stream) is left out: \(set) has a store of it, \(other) has none")
            }
        }
        let pairs = zip(try self.first.foldedStreams(), try self.second.foldedStreams())
        for (own, others) in pairs {
            guard own.isOfSameLog(as: others) else {
                throw InspectionError.differentLogs(stream: own.stream, directories: directories)
            }
            notices += Self.notices(own, others)
        }
    }

    /// A set that was promoted is in force in its data directory.
    mutating func note(_ stream: String, isSame paths: [String], _ others: [String]) {
        guard !paths.isEmpty, paths.map(Self.standard) == others.map(Self.standard) else { return }
        notices.append("\(stream): A and B are one store, \(paths.joined(separator: ", "))")
    }

    private static func standard(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.resolvingSymlinksInPath().path
    }

    func compare(_ plan: DumpPlan, _ question: ComparisonQuery) throws -> TableComparison {
        TableComparison(
            try MeasuredTable(first.dump(plan)).only(question.measures),
            try MeasuredTable(second.dump(plan)).only(question.measures),
            showsEqual: question.showsEqual)
    }

    private static func notices(_ own: FoldedStream, _ others: FoldedStream) -> [String] {
        let reaches = own.differencesInReach(from: others)
        var notices: [String] = []
        if !reaches.isEmpty {
            notices.append(
                "\(own.stream): \(reaches.joined(separator: "; ")): what only one of them has folded "
                    + "is part of the difference")
        }
        if own.differsInConfiguration(from: others) {
            notices.append("\(own.stream): A and B were folded under different configurations")
        }
        return notices
    }
}

extension StoreView {
    /// The copies of these streams only.
    fileprivate func limited(to streams: Set<String>) -> StoreView {
        StoreView(copies: copies.filter { streams.contains($0.stream) })
    }
}

extension MeasuredTable {
    /// The table with these measures only, in their own order; with all when none is named.
    func only(_ names: [String]) throws(InspectionError) -> MeasuredTable {
        guard !names.isEmpty else { return self }
        for name in names where !measures.contains(name) {
            throw .unknownMeasure(name, known: measures)
        }
        let places = measures.indices.filter { names.contains(measures[$0]) }
        return MeasuredTable(
            columns: columns, measures: places.map { measures[$0] },
            rows: rows.map { row in
                Row(columns: row.columns, measures: places.map { row.measures[$0] })
            })
    }
}
