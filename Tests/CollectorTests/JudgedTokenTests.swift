import Foundation
import TestKit
import Testing

@testable import Collector
@testable import Tokens

@Suite("What the worker would reject")
struct JudgedTokenTests {
    private func answer(
        _ workspace: CollectorWorkspace, _ use: TokenUse, _ path: String, _ event: String,
        type: String? = nil, open: [String] = []
    ) throws -> Answer {
        let token = try EventToken(
            use: use, type: type ?? use.types[0], event: event, openMembers: open,
            target: use == .click ? "https://a.example/" : "",
            expiresAtSeconds: Int64(Date().timeIntervalSince1970) + 60)
        let text = try #require(try workspace.tokenKeys.sign(token))
        return try workspace.get("\(path)\(path.contains("?") ? "&" : "?")t=\(text)")
    }

    @Test(
        "is not redirected, be it the token's or the query's",
        arguments: [
            (#"{"impression_id":"i"}"#, "", "missing_field", "initiated_by"),
            (#"{"impression_id":"i"}"#, "?initiated_by=robot", "out_of_range", "initiated_by"),
            (
                #"{"impression_id":"i","initiated_by":"user","sdk_version":3}"#, "", "wrong_type",
                "sdk_version"
            ),
            (
                #"{"impression_id":"i","initiated_by":"user","campaign":{"campaign_id":"x"}}"#, "",
                "wrong_type", "campaign_id"
            ),
            (#"{"initiated_by":"user"}"#, "", "missing_field", "impression_id"),
        ])
    func clicks(_ event: String, _ query: String, _ reason: String, _ field: String) throws {
        let workspace = try CollectorWorkspace()
        let answer = try answer(workspace, .click, "/c" + query, event, open: ["initiated_by"])
        #expect(answer.status == 400)
        #expect(answer.error == reason)
        #expect(answer.text.contains(field))
        #expect(answer.headers["location"] == nil)
        #expect(try workspace.records("overlay-clicks").isEmpty)
    }

    @Test("is what the query does not say, where it may")
    func openMembers() throws {
        let workspace = try CollectorWorkspace()
        let event = #"{"impression_id":"i"}"#
        let answer = try answer(
            workspace, .click, "/c?initiated_by=user", event, open: ["initiated_by"])
        #expect(answer.status == 302)
        #expect(try workspace.records("overlay-clicks").count == 1)
    }

    @Test("is no image")
    func images() throws {
        let workspace = try CollectorWorkspace()
        let event = #"{"impression_id":"i","test":"yes"}"#
        #expect(try answer(workspace, .impression, "/i", event).error == "wrong_type")
        #expect(
            try answer(
                workspace, .impression, "/i", #"{"impression_id":"i"}"#, type: "skadn.impression"
            ).error == "missing_field")
        #expect(try workspace.records("impressions").isEmpty)
    }

    @Test("is no notice", arguments: ["-1", "1000001"])
    func notices(_ price: String) throws {
        let workspace = try CollectorWorkspace()
        let event = #"{"auction_id":"a","bid_id":"b"}"#
        let refused = try answer(
            workspace, .notice, "/v1/notices/billing?price=\(price)", event, type: "openrtb.billing"
        )
        #expect(refused.status == 400)
        #expect(refused.error == "out_of_range")
        #expect(try workspace.records("bids").isEmpty)
        let bad = #"{"auction_id":"a","bid_id":"b","campaign":{"app_id":"x"}}"#
        #expect(
            try answer(workspace, .notice, "/v1/notices/win", bad, type: "openrtb.win").error
                == "wrong_type")
        // The price of a win is not counted, and so not judged.
        #expect(
            try answer(
                workspace, .notice, "/v1/notices/win?price=\(price)", event, type: "openrtb.win"
            )
            .status == 200)
    }
}
