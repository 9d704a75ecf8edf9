import ConversionModels
import Foundation
import Reports
import Signatures
import Streams
import TestKit
import Testing

@Suite("Exports under the names of measurement services")
struct ExportTests {
    private let stores = FunnelStores()

    /// Apple's example of a postback of 4.0, which is valid.
    private static let four = """
        {"version":"4.0","ad-network-id":"com.example","source-identifier":"5239","app-id":525463029,\
        "transaction-id":"6aafb7a5-0170-41b5-bbe4-fe71dedf1e30","redownload":false,\
        "source-domain":"example.com","fidelity-type":1,"did-win":true,"conversion-value":63,\
        "postback-sequence-index":0,"attribution-signature":"MEUCIGRmSMrqedNu6uaHyhVcifs118R5z/AB6cvRaKr\
        RRHWRAiEAv96ne3dKQ5kJpbsfk4eYiePmrZUU6sQmo+7zfP/1Bxo="}
        """
    /// Apple's example of AdAttributionKit, by a development key.
    private static let adAttributionKit = """
        {"jws-string":"eyJraWQiOiJhcHBsZS1kZXZlbG9wbWVudC1pZGVudGlmaWVyXC8xIiwiYWxnIjoiRVMyNTYifQ.eyJwb3N\
        0YmFjay1pZGVudGlmaWVyIjoiODU1NDZFQjctRkQzOS00NEJDLTg5OTAtQzk4QTRBQzM2QTQ5IiwicHVibGlzaGVyLWl0ZW0t\
        aWRlbnRpZmllciI6MCwibWFya2V0cGxhY2UtaWRlbnRpZmllciI6ImNvbS5hcHBsZS5BcHBTdG9yZSIsImltcHJlc3Npb24t\
        dHlwZSI6ImFwcC1pbXByZXNzaW9uIiwiYWQtbmV0d29yay1pZGVudGlmaWVyIjoiZGV2ZWxvcG1lbnQuYWRhdHRyaWJ1dGlv\
        bmtpdCIsImRpZC13aW4iOnRydWUsInBvc3RiYWNrLXNlcXVlbmNlLWluZGV4IjowLCJjb252ZXJzaW9uLXR5cGUiOiJyZS1l\
        bmdhZ2VtZW50Iiwic291cmNlLWlkZW50aWZpZXIiOiIxMjM0IiwiYWR2ZXJ0aXNlZC1pdGVtLWlkZW50aWZpZXIiOjEwNzM4\
        MDI3NzU2fQ.bAdNwKd6OfHK9tofvjjua4X_JPcFTxXPQSspD9gZkinw97pY7R1aI-LSjl-oxZZF3_K2H5JK5TSEBee4_1U4oQ",\
        "conversion-value":24,"ad-interaction-type":"click","country-code":"US"}
        """

    private func model() throws -> ConversionModel {
        try ConversionModel(
            app: 525_463_029,
            versions: [
                ConversionModelVersion(
                    id: "v1", effectiveFromMilliseconds: 0, currency: "USD",
                    fields: [
                        FineField(
                            lowestBit: 0, highestBit: 5,
                            kind: .table([
                                20: [ModelEvent(event: "say \"revenue\":{\"min\":1,\"max\":2,")],
                                63: [
                                    ModelEvent(
                                        event: "buy", revenueMinMicros: 100_000,
                                        revenueMaxMicros: 9_007_199_254_740_993)
                                ],
                            ]))
                    ])
            ])
    }

    /// A forged copy, then the true one; a network that lost; 4.0; AdAttributionKit.
    private func fold(partners: String...) throws {
        try stores.setCatalog(
            """
            networks: {com.example: "Example, Inc."}
            apps: {525463029: Rides}
            campaigns:
              - {name: "Spring \\"26\\"", network: com.example, app: 525463029,
                 source_identifier: "5239", media_source: web}
            """)
        var forged = SampleStores.Record.postback(0)
        forged.value = forged.value?.replacing("\"campaign-id\":42", with: "\"campaign-id\":43")
        try stores.sample.foldPostbacks(
            [
                forged, .postback(1), .losingPostback(2),
                .init(offset: 3, milliseconds: SampleStores.noon + 1500, value: Self.four),
                .init(offset: 4, type: "adattributionkit.postback", value: Self.adAttributionKit),
            ], models: [try model()],
            partners: partners.map {
                PartnerRule(
                    name: $0, trust: $0 == "lax" ? [.valid, .invalid, .development] : [.valid],
                    networks: nil, apps: nil)
            })
    }

    private func text(
        _ query: ExportQuery, as format: ExportFormat = .csv
    ) throws -> (text: String, omissions: ExportOmissions) {
        var text = ""
        let written = try stores.sample.stores("data").export(
            query, catalog: stores.catalog, log: DocumentsOfOutbox(), as: format
        ) { piece in text += String(decoding: piece, as: UTF8.self) }
        let lines = text.split(whereSeparator: \.isNewline).count
        #expect(written.rowCount == (format == .csv ? lines - 1 : lines))
        return (text, written.omissions)
    }

    private func golden(_ name: String) throws -> String {
        try Repository.text("Tests/Fixtures/exports/\(name)")
    }

    @Test("a profile's rows are its golden file", arguments: ExportProfile.allCases)
    func goldenFiles(profile: ExportProfile) throws {
        try fold(partners: "acme")
        let csv = try text(ExportQuery(profile: profile, partner: "acme")).text
        #expect(csv.replacing("\r\n", with: "\n") == (try golden("\(profile.rawValue).csv")))
        let ndjson = try text(
            ExportQuery(profile: profile, partner: "acme"), as: .ndjson
        ).text
        #expect(ndjson == (try golden("\(profile.rawValue).ndjson")))
    }

    @Test("a postback is one row, in its best copy, however many partners got it")
    func oneRow() throws {
        try fold(partners: "acme", "lax", "zeta")
        let all = try text(ExportQuery(profile: .adjust))
        let lines = all.text.split(separator: "\r\n")
        #expect(lines.count == 1 + 3)
        #expect(lines[1].contains(",42,"))
        #expect(all.omissions.adAttributionKit == 1)
        for partner in ["acme", "lax"] {
            #expect(try text(ExportQuery(profile: .adjust, partner: partner)).text == all.text)
        }
        #expect(try text(ExportQuery(profile: .adjust, partner: "none")).text == lines[0] + "\r\n")
    }

    @Test("the profile weir has postbacks of AdAttributionKit, with the words that only they have")
    func adAttributionKitRows() throws {
        try fold(partners: "lax")
        let found = try text(ExportQuery(profile: .weir), as: .ndjson)
        #expect(found.omissions == ExportOmissions())
        let rows = found.text.split(separator: "\n").map(String.init)
        let row = try #require(rows.first { $0.contains("adattributionkit") })
        #expect(rows.count == 4)
        for words in [
            #""version":null,"postback_id":"85546EB7-FD39-44BC-8990-C98A4AC36A49","sequence_index":0"#,
            #""campaign":"1234","app_id":10738027756,"source_app_id":0,"#,
            #""interaction":"click","conversion_type":"re-engagement","marketplace":"com.apple.AppStore","#,
            #""valid":false,"country":"US","conversion_value":24,"#,
        ] {
            #expect(row.contains(words), "\(row)")
        }
    }

    @Test("an invalid signature is said to be one")
    func invalidSignature() throws {
        var forged = SampleStores.Record.postback(0)
        forged.value = forged.value?.replacing("\"campaign-id\":42", with: "\"campaign-id\":43")
        try stores.sample.foldPostbacks(
            [forged],
            partners: [PartnerRule(name: "lax", trust: [.invalid], networks: nil, apps: nil)])
        #expect(
            try text(ExportQuery(profile: .adjust), as: .ndjson).text
                .contains(#""sk_invalid_signature":1"#))
        #expect(
            try text(ExportQuery(profile: .singular), as: .ndjson).text
                .contains(#""skan_validated":false"#))
    }

    @Test(
        "rows are handed over while others are still to be read, and an output that fails ends it")
    func streaming() throws {
        try fold(partners: "acme")
        // Copies of a postback, of which the last cannot be read.
        try stores.sample.change(
            """
            WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
            INSERT INTO postback_ids (partition, id, rank, offset)
              SELECT 0, randomblob(16), 2, 100 + i FROM n;
            WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
            INSERT INTO outbox SELECT 0, 100 + i, 'acme', 'x' || i, 1, 100 + i, 'n', '1', 0, 1, 0,
              CASE i WHEN 1000 THEN '{' ELSE (SELECT document FROM outbox LIMIT 1) END FROM n
            """, stream: "postbacks")
        struct Full: Error {}
        let set = try stores.sample.stores("data")
        let query = ExportQuery(profile: .adjust, partner: "acme")
        var byteCount = 0
        #expect(throws: InspectionError.self) {
            _ = try set.export(
                query, catalog: stores.catalog, log: DocumentsOfOutbox(), as: .ndjson
            ) {
                byteCount += $0.count
            }
        }
        #expect(byteCount > 100_000)
        #expect(throws: Full.self) {
            _ = try set.export(
                query, catalog: stores.catalog, log: DocumentsOfOutbox(), as: .ndjson
            ) { _ in throw Full() }
        }
    }

    @Test("since takes its instant along, until does not")
    func times() throws {
        try fold(partners: "acme")
        func count(_ since: Int64?, _ until: Int64?) throws -> Int {
            let query = ExportQuery(
                profile: .singular, partner: "acme", sinceMilliseconds: since,
                untilMilliseconds: until)
            return try text(query, as: .ndjson).text.split(separator: "\n").count
        }
        let later = SampleStores.noon + 1500
        #expect(try count(later, nil) == 1)
        #expect(try count(nil, later) == 2)
        #expect(try count(later + 1, nil) == 0)
        let none = try text(
            ExportQuery(profile: .singular, partner: "acme", sinceMilliseconds: later + 1))
        #expect(none.omissions == ExportOmissions(adAttributionKit: 0, otherTimes: 3))
    }
}
