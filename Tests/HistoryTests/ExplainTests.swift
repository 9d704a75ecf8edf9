import ConfigurationFiles
import ConfigurationValues
import EmbeddedLog
import Engine
import EventLog
import Reports
import Store
import Streams
import TestKit
import Testing

@testable import History

@Suite("The records behind a number")
struct ExplainTests {
    @Test(
        "add up exactly to the number, for random cells of random data",
        arguments: MeasuredWorkspace.streams, 1...2 as ClosedRange<UInt64>)
    func addUp(_ stream: String, _ seed: UInt64) throws {
        let workspace = try MeasuredWorkspace(stream)
        for part in 0..<2 {
            try workspace.fold(workspace.records(120, seed: seed * 10 + UInt64(part)), under: part)
        }
        var generator = SeededGenerator(seed: seed)
        let stores = try workspace.stores()
        for table in try workspace.tables {
            let rows = try workspace.state().sums.filter { $0.key.table == table.name }
                .sorted { "\($0.key)" < "\($1.key)" }
            guard !rows.isEmpty else { continue }
            for _ in 0..<4 {
                let row = rows[Int.random(in: 0..<rows.count, using: &generator)]
                let query = ReportRequest(
                    name: table.name, grouping: .total,
                    conditions: Self.conditions(of: row.key, table, &generator))
                let dump = try stores.dump(query)
                var listed: [Int: Int128] = [:]
                let cell = try DumpFigure(query)
                let explanation = try workspace.explainer(stores).explainTwice(cell) { record in
                    guard record.role == .counted else { return }
                    for measure in cell.measures.indices {
                        listed[measure, default: 0] += record.amounts[measure]
                    }
                }
                #expect(explanation.addsUp, "\(query.conditions): \(explanation.summary)")
                #expect(!explanation.measures.isEmpty)
                #expect(explanation.missing.isEmpty)
                for measure in explanation.measures {
                    #expect(measure.stored == dump.rows.first?.measures[measure.index])
                    #expect(listed[measure.index] == measure.stored)
                }
            }
        }
    }

    @Test("add up in years beyond 9999, too", arguments: ["rejected", "overlay-clicks"])
    func farTimes(_ dump: String) throws {
        let workspace = try MeasuredWorkspace("overlay-clicks")
        var records = try workspace.records(40, seed: 2)
        for (index, time) in [253_402_300_799_999, 253_402_905_599_998, Int64.max].enumerated() {
            for record in records.indices where record % 4 == index {
                records[record].timestampMilliseconds = time
            }
        }
        try workspace.fold(records)
        let explanation = try workspace.explainer(workspace.stores()).explain(
            DumpFigure(ReportRequest(name: dump))
        ) { _ in }
        #expect(explanation.addsUp && explanation.counted > 0, "\(explanation.summary)")
        #expect(explanation.missing.isEmpty)
    }

    @Test(
        "add up from an archive and from what is left of its log",
        arguments: MeasuredWorkspace.streams)
    func archive(_ stream: String) throws {
        let workspace = try MeasuredWorkspace(stream)
        // Hours come more than once, so that what is read of a partition lies here and there.
        for part in 0..<3 { try workspace.fold(workspace.records(100, seed: 3 + UInt64(part % 2))) }
        let log = try workspace.workspace.openLog()
        let path = workspace.workspace.path + "/archive.sqlite"
        let copy = try ArchiveCopy(
            from: log.reader(topic: stream), to: EmbeddedLog(path: path, mode: .create))
        try copy.copyToEnd()
        for range in copy.ranges {
            let half = (range.earliestOffset + range.endOffset) / 2
            try log.trim(topic: stream, partition: range.partition, before: half)
        }
        let explainer = Explainer(
            stores: try workspace.stores(),
            openReader: { try ArchivedLogReader(path: path, before: log.reader(topic: $0)) },
            address: path, rules: .pipelines(PipelineDirectory(workspace.workspace.pipelines)))
        for table in try workspace.tables {
            let explanation = try explainer.explain(
                DumpFigure(ReportRequest(name: table.name, grouping: .total)),
                measures: { figure in figure.measures.filter { !MoneyByCurrency.isMoney($0) } }
            ) { _ in }
            #expect(explanation.addsUp && explanation.missing.isEmpty)
        }
    }

    /// Some of a row's columns, as a person writes them.
    private static func conditions(
        of row: StoredRowKey, _ table: AggregateTable, _ generator: inout SeededGenerator
    ) -> [ReportRequest.Condition] {
        zip(table.columns, row.columns).compactMap { column, value in
            guard Int.random(in: 0..<3, using: &generator) == 0 else { return nil }
            return switch value {
            case .integer(let integer) where column.kind == .boolean:
                .init(column: column.name, value: integer == 0 ? "false" : "true")
            case .integer(let integer): .init(column: column.name, value: "\(integer)")
            case .text(let text): .init(column: column.name, value: text)
            }
        }
    }

    @Test("are not added up over currencies")
    func currencies() throws {
        let workspace = try MeasuredWorkspace("postbacks")
        try workspace.configure(0)
        try workspace.workspace.write(
            Samples.modelFile,
            Samples.model + """
                  - id: second
                    effective_from: 2026-12-01T00:00:00Z
                    currency: EUR
                    fine:
                      fields:
                        - {bits: [0, 3], kind: revenue, buckets: [0, 1, 5, 10, 50], max: 100}

                """)
        try workspace.publish(
            try ["t1", "t2"].enumerated().map { number, id in
                try Samples.signed(id, key: id, at: Samples.start + Int64(number) * 30 * 86_400_000)
            })
        try workspace.fold()
        let explainer = try workspace.explainer(workspace.stores())
        func explain(_ currency: String?, _ measure: String) throws -> Explanation {
            let conditions = currency.map {
                [ReportRequest.Condition(column: "currency", value: $0)]
            }
            return try explainer.explain(
                DumpFigure(ReportRequest(name: "decoded-events", conditions: conditions ?? [])),
                measures: { _ in [measure] }
            ) { _ in }
        }
        #expect(
            throws: ExplanationError.severalCurrencies(
                measure: "revenue_max_micros", dump: "decoded-events", currencies: ["EUR", "USD"])
        ) { try explain(nil, "revenue_max_micros") }
        #expect(try explain(nil, "count_max").addsUp)
        let one = try explain("EUR", "revenue_max_micros")
        #expect(one.addsUp && one.measures.first?.stored != 0)
        #expect(one.measures.first?.currency == "EUR")
        #expect(try explain(nil, "count_max").measures.first?.currency == nil)
    }

    @Test("name what was left out and why: copies with their original, conflicts, forged ones")
    func leftOut() throws {
        let workspace = try MeasuredWorkspace("postbacks")
        try workspace.fold([
            Samples.signed("a"), Samples.signed("a"), Samples.signed("a", value: 5),
            Samples.signed("b", forged: true), Samples.record("postbacks", "[1", partition: 0),
            Samples.signed("c"),
        ])
        let cell = try DumpFigure(
            ReportRequest(
                name: "postbacks",
                conditions: [
                    .init(column: "verdict", value: "valid"),
                    .init(column: "campaign", value: "42"),
                ]))
        var roles: [Int64: ExplainedRecord.Role] = [:]
        let explanation = try workspace.explainer(workspace.stores()).explain(cell) {
            roles[$0.folded.record.offset] = $0.role
        }
        #expect(
            roles == [
                0: .counted, 1: .leftOut("duplicate of offset 0"),
                2: .leftOut("conflict with offset 0"), 3: .leftOut("verdict invalid"),
                4: .untold("rejected: malformed_json"), 5: .counted,
            ])
        #expect(explanation.summary == ["adds up: 2 records add 2 to postbacks, the store has 2"])
        #expect(explanation.untold.map(\.records) == [1])
    }

    @Test("an amount has its currency beside it, once")
    func besideAmounts() {
        func label(_ name: String, _ currency: String?) -> String {
            Explanation.Measure(
                name: name, index: 0, stored: 5, found: 5, records: 1, currency: currency
            ).label
        }
        #expect(label("revenue_min_micros", "USD") == "revenue_min_micros USD")
        #expect(label("revenue_min_micros USD", "USD") == "revenue_min_micros USD")
        #expect(label("installs", nil) == "installs")
        let measure = Explanation.Measure(
            name: "cost_micros", index: 0, stored: 5, found: 5, records: 1, currency: "EUR")
        let explanation = Explanation(
            dump: "costs", measures: [measure], counted: 1, leftOut: 0, untold: [], missing: [])
        #expect(
            explanation.summary == ["adds up: 1 record adds 5 to cost_micros EUR, the store has 5"])
    }

    @Test("name test events, and what another campaign left out is not told of")
    func testEvents() throws {
        let workspace = try MeasuredWorkspace("impressions")
        func record(_ id: String, campaign: Int, test: Bool = false) -> OutgoingRecord {
            Samples.record(
                "impressions",
                "{\"impression_id\":\"\(id)\",\"test\":\(test),\"campaign\":{\"campaign_id\":\(campaign)}}",
                partition: 0)
        }
        try workspace.fold([
            record("a", campaign: 1), record("b", campaign: 1, test: true),
            record("c", campaign: 2), record("c", campaign: 2), record("a", campaign: 1),
        ])
        let cell = try DumpFigure(
            ReportRequest(name: "impressions", conditions: [.init(column: "campaign", value: "1")]))
        var roles: [Int64: ExplainedRecord.Role] = [:]
        _ = try workspace.explainer(workspace.stores()).explain(
            cell, measures: { _ in ["presented"] }
        ) {
            roles[$0.folded.record.offset] = $0.role
        }
        #expect(roles == [0: .counted, 1: .leftOut("test"), 4: .leftOut("duplicate")])
    }

    @Test("that are gone from the log are told of with their offsets")
    func trimmedLog() throws {
        let workspace = try MeasuredWorkspace("bids")
        try workspace.fold(Samples.bids(0..<10_000))
        let earliest = try workspace.workspace.openLog().trim(
            topic: "bids", partition: 0, before: 9000)
        #expect(earliest > 0)
        let explanation = try workspace.explainer(workspace.stores()).explain(
            DumpFigure(ReportRequest(name: "bids")), measures: { _ in ["auctions"] }
        ) { _ in }
        #expect(!explanation.addsUp)
        #expect(explanation.missing.first?.position == .beforeBegin(0..<earliest))
        #expect(explanation.missing.first?.records == earliest)
        #expect(
            explanation.summary.first?.contains(
                "no longer contains offsets 0 to \(earliest - 1) of bids/0")
                == true)
    }

    @Test("of another log are refused")
    func otherLog() throws {
        let workspace = try MeasuredWorkspace("bids")
        let other = try MeasuredWorkspace("bids")
        for one in [workspace, other] { try one.fold([Samples.bid("a")]) }
        #expect(throws: ExplanationError.self) {
            try other.explainer(workspace.stores()).explain(DumpFigure(ReportRequest(name: "bids")))
            {
                _ in
            }
        }
    }
}

@Suite("The records behind a number of the funnel")
struct FunnelExplainTests {
    @Test("add up to what the funnel shows, for each of its rows")
    func addUp() throws {
        let workspace = try Workspace()
        try workspace.write("postbacks.yaml", Samples.trustedKeys)
        try workspace.write(Samples.modelFile, Samples.model)
        for stream in [WindowedStream.bids, .impressions, .overlayClicks] {
            try workspace.publish(stream.rawValue, stream.records(200, seed: 3))
            try workspace.fold(stream)
        }
        try workspace.publish("postbacks", try Samples.postbacks(200, seed: 3))
        try workspace.foldPostbacks()
        let stores = try workspace.stores()
        let explainer = try workspace.explainer(stores)
        let configuration = ReportConfiguration(
            catalog: try PipelineDirectory(workspace.pipelines).catalog())
        let all = try FunnelFigure(ReportRequest(name: Funnel.name), configuration)
        let whole = try explainer.explain(all) { _ in }
        #expect(whole.missingStreams == ["store-notifications"])
        #expect(throws: InspectionError.self, "without a store nobody knows") {
            try explainer.explain(all, measures: { _ in ["installs", "app_refunds"] }) { _ in }
        }
        let columns = ["day", "ad_network_id", "app_id", "campaign"]
        let counts = [
            "bids", "presented", "clicks", "installs", "postbacks", "null_values", "wins",
        ]
        let funnel = try stores.funnel(ReportRequest(name: Funnel.name), configuration).table
        #expect(funnel.rows.count > 5)
        for row in funnel.rows {
            func words(_ name: String) -> String {
                let index = funnel.columns.firstIndex { $0.name == name } ?? 0
                return switch row[index] {
                case .text(let text): text
                case .integer(let integer): "\(integer)"
                default: ""
                }
            }
            let query = ReportRequest(
                name: Funnel.name, grouping: .total,
                conditions: columns.map { .init(column: $0, value: words($0)) })
            let cell = try FunnelFigure(query, configuration)
            let explanation = try explainer.explain(cell, measures: { _ in counts }) { _ in }
            #expect(explanation.addsUp, "\(explanation.summary)")
            for measure in explanation.measures {
                #expect("\(measure.stored ?? -1)" == words(measure.name), "\(measure.name)")
            }
            let money = try #require(cell.parts(of: "revenue_max_micros"))
            let revenue = try explainer.explain(cell, measures: { _ in money }) { _ in }
            #expect(revenue.addsUp)
        }
    }
}

extension Explainer {
    /// Explains a figure by folding its records again, and by the index of the stores, which must agree.
    func explainTwice(
        _ figure: any Figure, measures: (any Figure) throws -> [String]? = { _ in nil },
        _ body: (ExplainedRecord) throws -> Void
    ) throws -> Explanation {
        func line(_ record: ExplainedRecord) -> String {
            let folded = record.folded.record
            return "\(record.topic)/\(folded.partition)/\(folded.offset) \(record.role)"
        }
        var (folded, listed): (Set<String>, Set<String>) = ([], [])
        let explanation = try explain(figure, measures: measures) { record in
            folded.insert(line(record))
            try body(record)
        }
        var explainer = self
        explainer.foldedOffsets = -1
        let indexed = try explainer.explain(figure, measures: measures, limit: .max) {
            listed.insert(line($0))
        }
        let isIndexed = !indexed.isVerified
        #expect(isIndexed)
        let different = listed.symmetricDifference(folded).min()
        #expect(different == nil)
        #expect(indexed.counted == explanation.counted)
        #expect(indexed.leftOut == explanation.leftOut)
        #expect(indexed.unexamined == 0)
        #expect(indexed.measures == explanation.measures)
        #expect(indexed.untold == explanation.untold)
        explainer.mostExamined = 0
        let some = try explainer.explain(figure, measures: measures, limit: 0) { _ in }
        #expect(some.untold == explanation.untold || some.unexamined > 0)
        #expect(some.counted == explanation.counted)
        #expect(some.measures == explanation.measures)
        #expect(some.leftOut <= explanation.leftOut)
        #expect(some.leftOut + some.unexamined >= explanation.leftOut)
        return explanation
    }
}
