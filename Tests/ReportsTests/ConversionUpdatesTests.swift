import ConversionModels
import Reports
import Streams
import Testing

@Suite("Values given to installs beside the values in postbacks")
struct ConversionUpdatesTests {
    private let stores = SampleStores()

    private func record(_ offset: Int64, _ install: String, value: Int) -> SampleStores.Record {
        SampleStores.Record(
            offset: offset,
            value: """
                {"update_id":"u","install_id":"\(install)","app_id":525463029,"sequence_index":0,
                "model":"m1","outcome":"told","fine":{"told":{"value":\(value),"model":"m1"}}}
                """)
    }

    private func model() throws -> ConversionModel {
        // The second version begins in the hour in which a value of the postback was set last.
        let versions = try [("m1", -48), ("m2", -24), ("m3", -23)].map { id, hours in
            try ConversionModelVersion(
                id: id, effectiveFromMilliseconds: SampleStores.noon + hours * SampleStores.hour,
                currency: "USD", fields: [])
        }
        return try ConversionModel(app: 525_463_029, versions: versions)
    }

    private func rows(by columns: [String], models: [ConversionModel] = []) throws -> [String] {
        let dump = try stores.stores("data").dump(
            ReportRequest(name: "conversion-updates", grouping: .columns(columns)),
            DumpConfiguration(models: models))
        let shown = dump.measures.indices.filter {
            ["told", "postbacks"].contains(dump.measures[$0])
        }
        return dump.rows.map { row in
            (row.columns.map { "\($0)" } + shown.map { "\(row.measures[$0] ?? -1)" })
                .joined(separator: " ")
        }
    }

    @Test("a returned value appears beside the given value, without losers")
    func joined() throws {
        try stores.fold(
            ConversionUpdatesFold.self,
            [record(0, "a", value: 20), record(1, "b", value: 20), record(2, "c", value: 5)])
        try stores.foldPostbacks([.postback(0), .losingPostback(1)])
        #expect(
            try rows(by: ["app_id", "sequence_index", "kind", "value"]) == [
                #"integer(525463029) integer(0) text("") text("") 0 0"#,
                #"integer(525463029) integer(0) text("fine") text("20") 2 1"#,
                #"integer(525463029) integer(0) text("fine") text("5") 1 0"#,
            ])
    }

    @Test("a postback stands under the version that decodes it")
    func versions() throws {
        try stores.fold(ConversionUpdatesFold.self, [record(0, "a", value: 20)])
        try stores.foldPostbacks([.postback(0)])
        #expect(
            try rows(by: ["model"], models: [model()]) == [#"text("m1") 1 0"#, #"text("m2") 0 1"#])
        #expect(try rows(by: ["model"]) == [#"text("") 0 1"#, #"text("m1") 1 0"#])
    }

    @Test("the digest covers the content of each store: postbacks are in it once")
    func digest() throws {
        try stores.fold(ConversionUpdatesFold.self, [record(0, "a", value: 20)])
        let alone = try stores.stores("data").digest()
        try stores.fold(ConversionUpdatesFold.self, [record(0, "a", value: 20)], into: "both")
        try stores.foldPostbacks([.postback(0, value: 20)], into: "both")
        let both = try stores.stores("both").digest()
        try stores.fold(
            ConversionUpdatesFold.self, [record(0, "a", value: 20)], into: "again", atOnce: 1)
        #expect(alone != both)
        #expect(try stores.stores("again").digest() == alone)
    }
}
