import ConversionModels
import EventLog
import JSON
import Signatures
import Testing

@testable import Streams

@Suite("Decoded events")
struct DecodedEventsTests {
    private func rows(
        _ record: TestRecord, trustsDevelopment: Bool = false, secondFrom: Int64? = nil
    ) throws -> Set<Row> {
        try foldPostbacks(
            [record], .together,
            PostbackPipeline(
                trustsDevelopment: trustsDevelopment, models: [Models.model(secondFrom: secondFrom)]
            )
        ).rows("decoded-events")
    }

    /// Revenue bucket 2 and the event 2: 2 | 2 << 3.
    private let postback = Postbacks.v40.with(["conversion-value": 18])

    private func row(_ event: String, _ measures: Row, model: String = "v1") -> Row {
        let row: Row = [
            "ad_network_id": "net.skadnetwork", "campaign": "0239", "app_id": 22,
            "source_app_id": 11, "model": .text(model), "event": .text(event), "currency": "EUR",
        ]
        return row.merging(measures) { $1 }
    }

    private var revenue: Row {
        row("revenue", ["revenue_min_micros": 4_990_000, "revenue_max_micros": 10_000_000])
    }
    private var purchase: Row {
        row(
            "purchase",
            [
                "count_min": 3, "count_max": 5, "revenue_min_micros": 500_000,
                "revenue_max_micros": 1_000_000,
            ])
    }

    @Test("a fine value gives a row an event, with its bounds")
    func fine() throws { #expect(try rows(Postbacks.record(postback)) == [revenue, purchase]) }

    @Test("development counts where the pipeline trusts it; nothing else ever does")
    func trust() throws {
        for (signer, trusts, count): (SigningKeys.Signer, Bool, Int) in [
            (.production, false, 2), (.production, true, 2), (.development, false, 0),
            (.development, true, 2), (.stranger, true, 0),
        ] {
            #expect(
                try rows(Postbacks.record(postback, by: signer), trustsDevelopment: trusts).count
                    == count)
        }
        #expect(
            try rows(TestRecord(postback.with(["version": "9.9"])), trustsDevelopment: true).isEmpty
        )
    }

    @Test("a losing postback decodes to nothing, and so does one of an app without a model")
    func losing() throws {
        #expect(try rows(Postbacks.record(postback.with(["did-win": false]))).isEmpty)
        #expect(try rows(Postbacks.record(postback.with(["did-win": nil]))).isEmpty)
        #expect(try rows(Postbacks.record(postback.with(["app-id": 23]))).isEmpty)
        #expect(try rows(Postbacks.record(postback.with(["conversion-value": nil]))).isEmpty)
    }

    @Test("a coarse value means what it does in the window of its index")
    func coarse() throws {
        func rows(_ value: Document, _ index: Document) throws -> Set<Row> {
            try self.rows(
                Postbacks.record(
                    postback.with([
                        "conversion-value": nil, "coarse-conversion-value": value,
                        "postback-sequence-index": index,
                    ])))
        }
        #expect(try rows("low", 0) == [row("first", ["count_min": 1, "count_max": 1])])
        #expect(
            try rows("low", 1) == [
                row("second", ["count_min": 1, "count_max": 2, "sequence_index": 1])
            ])
        #expect(
            try rows("high", 2) == [
                row("third", ["count_min": 2, "count_max": 2, "sequence_index": 2])
            ])
        #expect(try rows("medium", 0).isEmpty)
    }

    @Test(
        "the version in effect at the latest moment decodes; another one at the earliest is ambiguous"
    )
    func ambiguity() throws {
        let hour: Int64 = 3_600_000
        // Received at half past five: the borders lie half past, versions begin on the hour.
        let received = TestRecord.halfPastFive + hour / 2
        let cases: [(Document, Int64)] = [
            (Postbacks.v30, 48), (postback, 96),
            (postback.with(["postback-sequence-index": 1]), 144 + 120),
            (postback.with(["postback-sequence-index": 2]), 144 + 672),
        ]
        for (base, earliestHours) in cases {
            let record = try Postbacks.record(base.with(["conversion-value": 18])).at(received)
            let latest = received - 24 * hour
            let earliest = received - earliestHours * hour
            for (from, model, ambiguous) in [
                (latest + hour, "v1", false), (latest, "v2", true), (earliest + hour, "v2", true),
                (earliest, "v2", false),
            ] {
                let rows = try rows(record, secondFrom: from)
                #expect(rows.count == 2)
                for row in rows {
                    #expect(row["model"] == .text(model))
                    #expect(row["ambiguous"] == (ambiguous ? 1 : nil))
                }
            }
        }
    }

    @Test(
        "a version that began between the two moments is not ambiguous when there was none before")
    func noneBefore() throws {
        let model = try ConversionModel(
            app: 22, versions: [Models.version("v1", from: Models.latest / 3_600_000 * 3_600_000)])
        let early = try Postbacks.record(postback)
        let pipeline = PostbackPipeline(models: [model])
        let result = try foldPostbacks([early], .together, pipeline)
        #expect(result.rows("decoded-events") == [revenue, purchase])
        let before = try foldPostbacks(
            [early.at(TestRecord.halfPastFive - 86_400_000)], .together, pipeline)
        #expect(before.rows("decoded-events").isEmpty)
    }

    @Test("a better copy decodes again, and nothing is taken back")
    func betterCopy() throws {
        let result = try foldPostbacks(
            [Postbacks.record(postback, by: .development), Postbacks.record(postback)], .together,
            PostbackPipeline(trustsDevelopment: true, models: [Models.model()]))
        #expect(result.sum("decoded-events", "count_max") == 10)
        #expect(result.sum("postbacks", "postbacks") == 2)
    }

    @Test("conversion-values take the copies of every verdict, and losing ones")
    func conversionValues() throws {
        let records =
            try SigningKeys.Signer.allCases.reversed().map {
                try Postbacks.record(postback, by: $0)
            } + [Postbacks.record(postback.with(["did-win": false, "transaction-id": "x"]))]
        let result = try foldPostbacks(records)
        #expect(
            result.sum("conversion-values", "postbacks", where: ["kind": "fine", "value": "18"])
                == 4)
    }

    @Test("sums of a batch that leave 64 bits are reported, and the one record is refused")
    func overflow() throws {
        func record(_ transaction: String, _ value: Document) throws -> TestRecord {
            try Postbacks.record(
                postback.with(["transaction-id": .string(transaction), "conversion-value": value]))
        }
        let batch = RecordBatch([try record("a", 1), try record("b", 2)])
        let memory = RowsInMemory()
        let fold = PostbacksFold(
            topic: "postbacks",
            rules: PostbacksRules(
                maxRecordBytes: 1 << 20, models: [try Models.hugeRevenue()],
                partners: [.init(name: "p", trust: [.valid], networks: nil, apps: nil)]),
            attestor: Attestor(keys: try SigningKeys.shared.trusted.get(), threadCount: 1),
            parser: try #require(JSONParser()), jwsParser: try #require(JSONParser()),
            memory: memory)
        let prepared = fold.prepare(batch)
        try fold.fold(0, of: prepared)
        #expect(!fold.hasOverflowed)
        try fold.fold(1, of: prepared)
        #expect(fold.hasOverflowed)
        fold.clear()
        #expect(!fold.hasOverflowed)
        try fold.fold(0, of: prepared)
        try fold.writeMemory(to: memory)
        fold.clear()
        try fold.fold(1, of: prepared)
        fold.rejectOverflow(1, of: prepared)
        #expect(fold.effects.refused.map(\.reason) == ["overflow"])
        #expect(fold.effects.refused.map(\.index) == [1])
        #expect(fold.accepted.isEmpty)
        #expect(fold.outbox.isEmpty)
        #expect(fold.deltas[0].count == 0)
    }
}
