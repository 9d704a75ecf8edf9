import AggregateStore
import ConversionModels
import Streams

extension StoreView {
    /// What `decoded-events` would be under other models, worked out of the values that are stored.
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

    /// Says whether the trust changed on the way: rows do not say which trust folded them.
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
    /// The columns of `decoded-events` with the day behind the hour.
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
