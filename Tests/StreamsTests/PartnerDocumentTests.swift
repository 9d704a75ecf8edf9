import JSON
import Testing

@testable import Streams

@Suite("Documents for partners")
struct PartnerDocumentTests {
    private static let id = "2d0136c18b5007e0d205543c5bf2f427"
    private static let members = """
        "partner":"acme","postback":{"version":"4.0"},"conversion":{"value":63,"events":[],\
        "revenue":{"min":0.000001,"max":12345678901234567.5,"currency":"USD"}},\
        "received_at":"2026-11-21T05:28:00Z","origin":{"topic":"postbacks","partition":2,"offset":7}
        """
    private static let text = "{\"id\":\"\(id)\",\"revision\":3,\(members)}"

    private let document = PartnerDocument(stored: Self.text, id: Self.id, revision: 1)

    private func postback(_ document: PartnerDocument) -> PartnerPostback {
        PartnerPostback(
            document: document, partner: "acme", partition: 2, originOffset: 7,
            adNetworkID: "com.example", campaign: "5239", hasSourceIdentifier: true, appID: 5,
            sourceAppID: 0)
    }

    @Test("a document that was stored is read, and stored again as the same bytes")
    func stored() {
        #expect(document.revision == 3)
        #expect(document.stored == Self.text)
    }

    @Test("a document is published with what corrects it and its campaign, its digits as stored")
    func published() {
        var document = document
        document.revision = 4
        document.supersedes = "\(Self.id):3"
        #expect(
            postback(document).published(name: "spring", network: nil, app: nil, mediaSource: nil)
                == """
                {"id":"\(Self.id)","revision":4,"supersedes":"\(Self.id):3",\(Self.members),\
                "campaign":{"name":"spring","network":null,"app":null,"media_source":null,\
                "ad_network_id":"com.example","campaign":"5239","app_id":5,"source_app_id":0}}
                """)
    }

    @Test("amounts are read as documents write them, whatever a double of them looks like")
    func amounts() throws {
        let parser = try #require(JSONParser())
        for amount in ["0.000001", "0.00001", "0.99", "1234567.89", "4990", "999999999.999999"] {
            let text = Self.text.replacing("0.000001", with: amount)
            let values = try PartnerDocument(stored: text, id: Self.id, revision: 1).values(parser)
            #expect(values["conversion.revenue.min"]?.text == amount)
        }
    }

    @Test("a document that is taken back has no conversion, and differs in nothing else")
    func withdrawn() throws {
        let parser = try #require(JSONParser())
        let withdrawn = try document.withdrawn(parser)
        #expect(
            withdrawn.stored.hasPrefix(
                "{\"id\":\"\(Self.id)\",\"revision\":3,\"withdrawn\":true,\"partner\":\"acme\","))
        #expect(withdrawn.stored.contains("\"conversion\":null"))
        #expect(try withdrawn.receivedAt(parser) == "2026-11-21T05:28:00Z")
        let differences = PartnerDocument.Values.differences(
            from: try document.values(parser), to: try withdrawn.values(parser))
        #expect(
            differences.map(\.path) == [
                "conversion.events", "conversion.revenue.currency", "conversion.revenue.max",
                "conversion.revenue.min", "conversion.value",
            ])
    }
}
