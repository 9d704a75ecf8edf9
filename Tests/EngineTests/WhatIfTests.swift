import ConfigurationFiles
import ConfigurationValues
import ConversionModels
import Foundation
import Reports
import Streams
import TestKit
import Testing

@Suite("weir what-if and weir diff")
struct WhatIfTests {
    private let columns = [
        "hour,ad_network_id,campaign,app_id,source_app_id,sequence_index,model,event,currency",
        "ad_network_id,campaign,app_id,event,currency", "day,currency",
        "campaign,has_source_identifier,currency", "total",
    ]

    /// Versions with the parts that the file of an app consists of.
    private func model(_ app: Int, _ versions: String...) -> String {
        "app: \(app)\nversions:\n" + versions.joined()
    }

    private func version(
        _ id: String, from: String, currency: String = "USD", buckets: String = "[0, 1, 5, 10, 50]",
        high: String = "2"
    ) -> String {
        """
          - id: \(id)
            effective_from: \(from)
            currency: \(currency)
            fine:
              fields:
                - {bits: [0, 2], kind: revenue, buckets: \(buckets), max: 100}
                - {bits: [3, 3], kind: flags, flags: {"3": trial}}
                - {bits: [4, 5], kind: events, values: {"1": {event: order, count_max: 3}}}
            coarse:
              "1": {medium: [{event: sale, revenue_min: 1, revenue_max: \(high)}]}
              "2": {high: [{event: sale, count_min: 2, revenue_min: 3, revenue_max: 9}]}

        """
    }

    /// A place whose postbacks were folded under models that were thought to be right.
    private func makePlace(trustsDevelopment: Bool, seed: UInt64) throws -> Workplace {
        let place = try Workplace()
        try place.write(
            "postbacks.yaml", SignedPostbacks.configuration(trustsDevelopment: trustsDevelopment))
        try place.write(
            Samples.modelFile,
            model(
                525_463_029, version("first", from: "2026-11-01T00:00:00Z"),
                version("second", from: "2026-12-01T05:00:00Z"),
                version("third", from: "2026-12-03T00:00:00Z", buckets: "[0, 2]")))
        try place.write(
            "conversion-models/525463030.yaml",
            model(525_463_030, version("only", from: "2026-12-20T00:00:00Z")))
        var postbacks = SignedPostbacks(seed: seed)
        try place.publish("postbacks", try postbacks.records(700))
        try place.foldPostbacks()
        return place
    }

    /// Corrects both models: in the past, in another currency, and from another hour on.
    private func correct(_ place: Workplace) throws {
        try place.write(
            Samples.modelFile,
            model(
                525_463_029, version("first", from: "2026-11-01T00:00:00Z", buckets: "[0, 3, 9]"),
                version("second", from: "2026-12-01T06:00:00Z", currency: "EUR"),
                version("third", from: "2026-12-03T00:00:00Z", buckets: "[0, 2]", high: "7")))
        try place.write(
            "conversion-models/525463030.yaml",
            model(
                525_463_030, version("earlier", from: "2026-11-25T00:00:00Z"),
                version("only", from: "2026-12-20T00:00:00Z")))
    }

    @Test(
        "what-if equals the difference that a replay of the whole log under these models makes",
        arguments: [(true, 1), (false, 2)])
    func equalsReplay(trustsDevelopment: Bool, seed: UInt64) throws {
        let place = try makePlace(trustsDevelopment: trustsDevelopment, seed: seed)
        try correct(place)
        try place.foldPostbacks(data: "corrected")
        let stored = try place.stores()
        let corrected = try place.stores("corrected")
        let candidates = try PipelineDirectory(place.pipelines).candidateModels()
        for columns in columns {
            for showsEqual in [false, true] {
                var question = ComparisonQuery(
                    ReportRequest(
                        name: "decoded-events", grouping: try .init(columns),
                        conditions: columns == "day,currency"
                            ? [.init(column: "app_id", value: "525463029")] : []))
                question.showsEqual = showsEqual
                let difference = try stored.diff(corrected, question)
                let guess = try stored.whatIf(candidates, question)
                #expect(guess.table.rows == difference.table.rows)
                #expect(guess.differs)
                #expect(guess.table.rows.count > 3)
                #expect(guess.notices.isEmpty)
                #expect(
                    difference.notices == [
                        "postbacks: A and B were folded under different configurations"
                    ])
            }
        }
        let ambiguous = try stored.whatIf(
            candidates,
            {
                var question = ComparisonQuery(ReportRequest(name: "", grouping: .total))
                question.request.measures = ["ambiguous"]
                return question
            }())
        #expect(ambiguous.differs)
    }

    @Test(
        "shortened source identifiers count as the campaign that they stand for, as in the funnel")
    func resolvedCampaigns() throws {
        let place = try makePlace(trustsDevelopment: false, seed: 4)
        try correct(place)
        try place.write(
            "catalog.yaml",
            """
            networks: {\(Samples.network): Network}
            apps: {525463029: Rides, 525463030: Eats}
            campaigns:
              - {name: Spring, network: \(Samples.network), app: 525463029, source_identifier: "5240"}

            """)
        let candidates = try PipelineDirectory(place.pipelines).candidateModels()
        let catalog = try PipelineDirectory(place.pipelines).catalog()
        func rows(
            _ conditions: [ReportRequest.Condition] = [], _ catalog: Catalog
        ) throws -> [[String]] {
            var question = ComparisonQuery(
                ReportRequest(
                    name: "decoded-events", grouping: .columns(["app_id", "campaign"]),
                    conditions: conditions))
            question.showsEqual = true
            question.request.measures = ["count_min"]
            return try place.stores().whatIf(candidates, question, catalog: catalog)
                .table.rows.map { $0.map(\.plainText) }
        }
        func sums(_ campaign: String, _ rows: [[String]]) -> [String] {
            rows.first { $0.contains(campaign) && $0.contains("525463029") } ?? []
        }
        let (came, resolved) = (try rows([], Catalog()), try rows([], catalog))
        // Version 3.0 has campaign 40, which is another one than the shortened 5240 of version 4.0.
        #expect(!sums("40", came).isEmpty && sums("5240", came).isEmpty)
        #expect(!sums("40", resolved).isEmpty && !sums("5240", resolved).isEmpty)
        #expect(sums("40", resolved) != sums("40", came))
        // Nothing is lost, and the totals are as they were.
        #expect(resolved.last == came.last)
        let one = try rows([.init(column: "campaign", value: "5240")], catalog)
        #expect(sums("5240", one) == sums("5240", resolved) && sums("40", one).isEmpty)
    }

    @Test("the models that are in force change nothing, and apps without a candidate are left out")
    func sameModels() throws {
        let place = try makePlace(trustsDevelopment: false, seed: 3)
        let stored = try place.stores()
        let models = try PipelineDirectory(place.pipelines).candidateModels()
        let question = ComparisonQuery(ReportRequest(name: "decoded-events"))
        let same = try stored.whatIf(models, question)
        #expect(!same.differs)
        #expect(same.table.rows.isEmpty)
        let partly = try stored.whatIf(Array(models.prefix(1)), question)
        #expect(!partly.differs)
        #expect(
            partly.notices == [
                "there is no candidate model of 525463030: both sides exclude their events"
            ])
    }

    @Test("sets of one log that were folded in the same way are the same in every dump")
    func sameSets() throws {
        let place = try makePlace(trustsDevelopment: false, seed: 4)
        try place.foldPostbacks(data: "again")
        let stored = try place.stores()
        let again = try place.stores("again")
        let comparison = try stored.diff(again, everyDumpBy: ReportRequest(name: ""))
        #expect(!comparison.differs)
        #expect(comparison.table.rows.isEmpty)
        #expect(comparison.notices.isEmpty)
        let itself = try stored.diff(
            OpenStores(directories: [place.path + "/./data"]), everyDumpBy: ReportRequest(name: ""))
        #expect(itself.notices.first?.contains("are the same store") == true)
    }

    @Test("what only one set has folded is said, and part of the difference")
    func otherReach() throws {
        let place = try makePlace(trustsDevelopment: false, seed: 5)
        try FileManager.default.copyItem(
            atPath: place.path + "/data", toPath: place.path + "/before")
        var postbacks = SignedPostbacks(seed: 6)
        try place.publish("postbacks", try postbacks.records(40))
        try place.foldPostbacks()
        let before = try place.stores("before")
        let now = try place.stores()
        let comparison = try before.diff(now, everyDumpBy: ReportRequest(name: ""))
        let notice = try #require(comparison.notices.first)
        #expect(notice.contains("partition 0 contains offsets 0 to "))
        #expect(
            comparison.table.rows.contains { row in
                row.first == .text("outcomes") && row[1] == .text("accepted")
                    && row[6] != .integer(0)
            })
    }

    @Test("stores of different logs are not compared")
    func otherLogs() throws {
        let places = try [7, 8].map { try makePlace(trustsDevelopment: false, seed: $0) }
        let sets = try places.map { try OpenStores(directories: [$0.path + "/data"]) }
        #expect(throws: InspectionError.self) {
            try sets[0].diff(sets[1], everyDumpBy: ReportRequest(name: ""))
        }
    }
}
