import AggregateStore
import ConversionModels
import Streams

extension StoreSet {
    /// Compares `decoded-events` with what they would be under candidate models, without a replay:
    /// the stored conversion values are decoded again.
    ///
    /// A replay of the whole log under these models would make the same difference. Apps without a
    /// candidate are left out, and a notice says so. Postbacks are trusted as they were when they
    /// were folded.
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

extension StoreView {
    /// What `decoded-events` would be under other models, computed from the stored values.
    ///
    /// - Parameter models: by app; values of other apps are left out.
    func candidateEvents(_ plan: DumpPlan, models: [Int64: ConversionModel]) throws -> Dump {
        var groups = RowGroups(plan)
        for copy in copies where copy.stream == PostbacksFold.streamName {
            let recorded = try copy.recordedDecodings()
            var hours = HourColumn()
            try copy.forEachRow(of: ValuedPostbacks.table) {
                partition, columns, measures in
                guard let row = ValuedPostbacks(columns, measures),
                    row.isTrusted(
                        trustsDevelopment: recorded[partition]?.trustsDevelopment ?? false),
                    let model = models[row.app]
                else { return }
                let hour = hours.hour(row.hour)
                guard let decoding = row.decoding(model, hourMilliseconds: hour.milliseconds)
                else { return }
                for event in decoding.events {
                    let values = row.eventColumns(decoding, event.event, day: hour.day)
                    guard plan.includes(values, timeMilliseconds: hour.milliseconds) else {
                        continue
                    }
                    groups.add(values, row.eventMeasures(decoding, event))
                }
            }
        }
        return groups.dump
    }

    /// A notice when the trust setting changed: rows do not say under which they were folded.
    func trustNotices() throws -> [String] {
        for copy in copies where copy.stream == PostbacksFold.streamName {
            guard try copy.recordedDecodings().values.contains(where: \.changedTrust) else {
                continue
            }
            return [
                "trust_development changed while these postbacks were folded: all are taken as the "
                    + "last setting has it; a replay under one setting makes them exact"
            ]
        }
        return []
    }
}

extension ValuedPostbacks {
    /// The columns of `decoded-events`, with the day after the hour.
    fileprivate func eventColumns(
        _ decoding: ModelDecoding, _ event: String, day: String
    ) -> [StoredValue] {
        [
            .text(hour), .text(day), .text(network), .text(campaign), .integer(app),
            .integer(sourceApp), .integer(sequenceIndex), .text(decoding.versionID), .text(event),
            .text(decoding.currency), .integer(kind == .campaignID ? 0 : 1),
        ]
    }

    fileprivate func eventMeasures(
        _ decoding: ModelDecoding, _ event: DecodedEvent
    ) -> [Int128] {
        [
            event.countMin, event.countMax, event.revenueMinMicros, event.revenueMaxMicros,
            decoding.ambiguous ? 1 : 0,
        ].map { Int128($0) * Int128(count) }
    }
}
