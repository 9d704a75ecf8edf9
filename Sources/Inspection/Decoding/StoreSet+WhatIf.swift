import ConversionModels
import Streams

extension StoreSet {
    /// Compares `decoded-events` with what they would be under candidate models, without a replay: the
    /// stored conversion values are decoded anew.
    ///
    /// It is the difference that a replay of the whole log under these models would make. Apps that
    /// have no candidate are left out, and said. Postbacks are trusted as they were when they were
    /// folded.
    ///
    /// - Throws: `noStore` when there is no store of postbacks; `unknownColumn` and its like for what
    ///   cannot be asked.
    package func whatIf(
        _ models: [ConversionModel], _ question: ComparisonQuery
    ) throws(InspectionError) -> StoreComparison {
        var query = question.query
        query.name = DecodedEventsKey.table.name
        let plan = try DumpPlan(query)
        let byApp = Dictionary(models.map { ($0.app, $0) }, uniquingKeysWith: { first, _ in first })
        return try view(of: [PostbacksFold.streamName]) { view in
            var leftOut: Set<Int64> = []
            var stored = RowGroups(plan)
            let appPlace = plan.description.columns.firstIndex { $0.name == "app_id" } ?? 0
            try view.forEachRow(plan) { values, measures in
                let app = values[appPlace].integer
                if byApp[app] == nil {
                    leftOut.insert(app)
                } else {
                    stored.add(values, measures)
                }
            }
            let comparison = TableComparison(
                try MeasuredTable(stored.dump).only(question.measures),
                try MeasuredTable(view.candidateEvents(plan, models: byApp)).only(
                    question.measures),
                showsEqual: question.showsEqual)
            return StoreComparison(
                table: comparison.report(.models, limit: question.limit),
                differs: comparison.differs,
                notices: try view.trustNotices() + Self.notices(leftOut: leftOut))
        }
    }

    private static func notices(leftOut apps: Set<Int64>) -> [String] {
        guard !apps.isEmpty else { return [] }
        let names = apps.sorted().map { "\($0)" }.joined(separator: ", ")
        return ["no candidate model of \(names): their events are left out, on both sides"]
    }
}
