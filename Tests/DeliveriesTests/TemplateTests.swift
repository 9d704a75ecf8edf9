import Foundation
import TestKit
import Testing

@testable import Deliveries

@Suite("What a partner's file says of requests")
struct TemplateTests {
    private func body(_ delivery: String, _ document: String = Documents.install()) throws -> String
    {
        let request = try #require(
            try PartnerFiles("url: https://e.example/\n" + delivery).request(document))
        return String(decoding: request.body ?? [], as: UTF8.self)
    }

    @Test("without a body the document is sent as the topic has it; GET sends none")
    func document() throws {
        #expect(try body("allow_private: false") == Documents.install())
        #expect(try body("body: json") == Documents.install())
        let request = try PartnerFiles("url: https://e.example/?a={id}\nmethod: GET")
            .request(Documents.install())
        #expect(request?.method == "GET" && request?.body == nil)
        #expect(request?.url == "https://e.example/?a=\(Documents.id)")
        #expect(request?.headers.contains { $0.name == "Content-Type" } == false)
    }

    @Test(
        "a macro stands for what the document has",
        arguments: [
            ("{id}:{revision}", "\(Documents.id):1"), ("{idempotency_key}", "\(Documents.id):1"),
            ("{partner} {{x}}", "acme {x}"), ("{framework}", "skadnetwork"),
            ("{received_at}", "2026-11-21T05:28:00Z"), ("{received_at_unix}", "1795238880"),
            ("{postback.app_id}", "525463029"), ("{postback.did_win}", "true"),
            ("{flags.did_win}{flags.redownload}", "10"), ("{sequence_index}", "0"),
            ("{transaction_id}", "6aafb7a5-0170-41b5-bbe4-fe71dedf1e30"),
            ("{conversion.value}/{conversion.model}", "63/v1"),
            ("{conversion.revenue.min}-{conversion.revenue.max}", "50-99.99"),
            ("{conversion.revenue.currency}", "USD"),
            ("{conversion.revenue}", "{\"min\":50,\"max\":99.99,\"currency\":\"USD\"}"),
            ("{conversion.event_names}", "purchase,tutorial_completed"),
            ("{conversion.counts_min}|{conversion.counts_max}", "3,1|5,1"),
            (
                "{conversion.events}",
                "[{\"name\":\"purchase\",\"count_min\":3,\"count_max\":5},{\"name\":\"tutorial_completed\",\"count_min\":1,\"count_max\":1}]"
            ),
            ("{install_window.earliest}", "2026-11-17T05:28:00Z"),
            ("{install_window.latest_unix}", "1795152480"),
            ("{campaign.name}", "Autumn, web"), ("{campaign.campaign}", "5239"),
            ("{origin.topic}/{origin.partition}/{origin.offset}", "postbacks/2/1047"),
        ])
    func macros(template: String, text: String) throws {
        let encoded = PercentEncoding.value(text)
        let quoted = template.replacing("\"", with: "\\\"")
        #expect(try body("body: {form: {v: \"\(quoted)\"}}") == "v=\(encoded)")
    }

    @Test(
        "a correction says what it supersedes, and a withdrawn one that it is; others say neither")
    func corrections() throws {
        let template =
            "body: {form: {s: \"{supersedes}\", w: \"{withdrawn}\", v: \"{conversion.value}\"}}"
        let lead = "{\"id\":\"\(Documents.id)\",\"revision\":"
        let document = Documents.install()
        let rest = document.dropFirst("\(lead)1".count)
        let changed = "\(lead)2,\"supersedes\":\"\(Documents.id):1\"\(rest)"
        #expect(try body(template, document) == "v=63")
        #expect(try body(template, changed) == "s=\(Documents.id)%3A1&v=63")
        let conversion = try #require(document.firstMatch(of: /"conversion":.*?,"install_window"/))
        let withdrawn = changed.replacing(
            conversion.output, with: "\"withdrawn\":true,\"conversion\":null,\"install_window\"")
        #expect(try body(template, withdrawn) == "s=\(Documents.id)%3A1&w=true")
    }

    @Test("Apple's JSON is rebuilt under its own names, of AdAttributionKit without the claims")
    func payload() throws {
        let text = try body("body: {form: {v: \"{sk_payload}\"}}")
        #expect(
            text.removingPercentEncoding == """
                v={"version":"4.0","ad-network-id":"com.example","source-identifier":"5239",\
                "app-id":525463029,"transaction-id":"6aafb7a5-0170-41b5-bbe4-fe71dedf1e30",\
                "redownload":false,"source-domain":"example.com","fidelity-type":1,"did-win":true,\
                "conversion-value":63,"postback-sequence-index":0,\
                "attribution-signature":"MEUC+/="}
                """)
        let base64 = try body("body: {form: {v: \"{sk_payload_base64}\"}}", Documents.reEngagement)
        let decoded = try #require(
            base64.dropFirst(2).removingPercentEncoding.flatMap { Data(base64Encoded: $0) })
        #expect(
            String(decoding: decoded, as: UTF8.self) == """
                {"jws-string":"eyJh.eyJw.c2ln","ad-interaction-type":"click","conversion-value":24,\
                "country-code":"US"}
                """)
    }

    @Test("a value that is a number, a list or an object stays one in JSON")
    func typed() throws {
        let text = try body(
            """
            body:
              json:
                value: "{conversion.value}"
                names: "{conversion.event_names}"
                revenue: "{conversion.revenue}"
                won: "{postback.did_win}"
                text: "v{conversion.value}"
                quoted: "7"
                plain: 7
            """)
        #expect(
            text == """
                {"value":63,"names":["purchase","tutorial_completed"],\
                "revenue":{"min":50,"max":99.99,"currency":"USD"},"won":true,"text":"v63",\
                "quoted":"7","plain":7}
                """)
    }

    @Test("a missing value is dropped by default, empty where the file says so, and may hold")
    func missing() throws {
        let form = "body: {form: {a: \"{conversion.coarse}\", b: \"x{conversion.coarse}\", c: k}}\n"
        #expect(try body(form) == "c=k")
        #expect(try body(form + "missing: empty") == "a=&b=x&c=k")
        #expect(try body(form + "missing: {a: empty}") == "a=&c=k")
        #expect(try body(form + "missing: {\"*\": empty, b: drop}") == "a=&c=k")
        let json =
            "body: {json: {a: \"{conversion.coarse}\", n: {b: \"{conversion.coarse}\"}, l: [\"{conversion.coarse}\", 1]}}\n"
        #expect(try body(json) == "{\"n\":{},\"l\":[1]}")
        #expect(
            try body(json + "missing: {\"*\": empty, n.b: drop}")
                == "{\"a\":null,\"n\":{},\"l\":[null,1]}")
        #expect(throws: RenderingFault.held(field: "a", macro: .conversionCoarse)) {
            try body(form + "missing: {a: hold}")
        }
        #expect(throws: RenderingFault.held(field: "path", macro: .conversionCoarse)) {
            try PartnerFiles("url: https://e.example/{conversion.coarse}")
                .request(Documents.install())
        }
        let empty = try PartnerFiles(
            "url: https://e.example/{conversion.coarse}?a={conversion.coarse}&b={id}\nmissing: {path: empty}\nheaders: {X-A: \"{conversion.coarse}\"}\nbody: none"
        ).request(Documents.install())
        #expect(empty?.url == "https://e.example/?b=\(Documents.id)")
        #expect(empty?.headers.contains { $0.name == "X-A" } == false)
    }

    @Test("a fault names its place and what to do", arguments: FaultCase.all("partner-templates"))
    func faults(_ wrong: FaultCase) throws {
        #expect(try PartnerFiles(wrong.text).fault() == "partners/acme.yaml:\(wrong.explanation)")
    }

    @Test(
        "what is no document is said to be none, with the reason",
        arguments: [
            ("{", "a member's name is missing at byte 1"), ("[]", "id: is not 32 hex digits"),
            (Documents.install(id: "../../x"), "id: is not 32 hex digits"),
            (Documents.install(revision: 0), "revision: is not a number from 1"),
            (Documents.install(partner: ""), "partner: is not a name"),
        ])
    func unreadable(text: String, words: String) throws {
        do {
            _ = try Documents.read(text)
            Issue.record("it was read")
        } catch let fault as UnreadableDocument {
            #expect(fault.description.contains(words), "\(fault)")
        }
    }
}
