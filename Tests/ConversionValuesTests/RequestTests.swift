import ConversionModels
import Streams
import Testing

@testable import ConversionValues

@Suite("Requests, and what answers look like")
struct RequestTests {
    private func read(
        _ changes: [String: String], _ kind: ConversionRequest.Kind = .conversionValue
    ) throws -> ConversionRequest { try Device().request("ride", kind, changes, at: Time.noon) }

    private func refusal(
        _ changes: [String: String], _ kind: ConversionRequest.Kind = .conversionValue
    ) -> RejectionReason? {
        do {
            _ = try read(changes, kind)
            return nil
        } catch {
            return (error as? Rejection)?.reason
        }
    }

    @Test("the guide's parameters are read, and the advertising id is not")
    func guide() throws {
        let request = try read([
            "i": "com.example.rides", "app_id": "", "a": "my_account_key", "app_v": "1.2",
            "total_revenue_by_currency": #"{"USD": 4.99, "EUR": 0}"#, "conversion_value": "7",
        ])
        #expect(request.appID == Shipped.rides)
        #expect(request.fine == 7)
        #expect(request.totalRevenueMicros == ["USD": 4_990_000, "EUR": 0])
        #expect(request.firstCallMilliseconds == Time.noon)
        #expect(!request.hasThreeWindows)
        let (_, update) = ConversionEngine.answer(
            request, state: nil, model: nil, nowMilliseconds: Time.noon)
        let json = String(decoding: try update.json(), as: UTF8.self)
        #expect(!json.contains("ad-id"))
    }

    @Test("SKAdNetwork 4's parameters are read, and say that there are three windows")
    func four() throws {
        let request = try read([
            "conversion_value": "", "skan_current_conversion_value": "7", "prev_fine_value": "9",
            "p0_coarse": "2", "p1_coarse": "low", "p0_window_lock": "true", "_skerror": "10",
        ])
        #expect(request.fine == 9)
        #expect(request.coarse == [.high, .low, nil])
        #expect(request.locks == [true, false, false])
        #expect(request.error == 10)
        #expect(request.hasThreeWindows)
        #expect(try read(["framework": "adattributionkit"]).hasThreeWindows)
        #expect(try read(["p2_coarse": ""]).hasThreeWindows)
    }

    @Test("a server's names are read too; a launch is a session, an event has a name")
    func server() throws {
        let request = try read(
            [
                "conversion_value": "", "skan_conversion_value": "3",
                "first_call_to_skadnetwork_timestamp": "",
                "skan_first_call_timestamp": "\(Time.noon / 1000 - 60)",
            ], .launch)
        #expect(request.fine == 3)
        #expect(request.firstCallMilliseconds == Time.noon - 60_000)
        #expect(request.event == "__SESSION__")
        #expect(refusal(["n": ""], .event) == .missingField)
    }

    @Test(
        "what cannot be is refused",
        arguments: [
            (["idfv": ""], .missingField),
            (["idfv": "00000000-0000-0000-0000-000000000000"], .outOfRange),
            (["app_id": "", "i": "com.example.unknown"], .outOfRange),
            (["app_id": "77"], .outOfRange),
            (["app_id": ""], .missingField), (["conversion_value": "64"], .outOfRange),
            (["conversion_value": "x"], .wrongType), (["p0_coarse": "3"], .outOfRange),
            (["p1_window_lock": "maybe"], .wrongType), (["framework": "skan"], .outOfRange),
            // Milliseconds where seconds belong.
            (["last_call_to_skadnetwork_timestamp": "1795262400000"], .outOfRange),
            (["first_call_to_skadnetwork_timestamp": "-5"], .outOfRange),
            (["total_revenue_by_currency": "{"], .malformedJSON),
            (["total_revenue_by_currency": "[]"], .wrongType),
            (["total_revenue_by_currency": #"{"USD":-1}"#], .outOfRange),
            (["total_revenue_by_currency": #"{"usd":1}"#], .outOfRange),
            (["total_revenue_by_currency": #"{"USD":"1"}"#], .wrongType),
            (["n": "a\u{7}b"], .outOfRange), (["_skerror": "bad"], .wrongType),
            (["update_id": String(repeating: "x", count: 129)], .outOfRange),
        ] as [([String: String], RejectionReason)])
    func refused(_ changes: [String: String], _ reason: RejectionReason) {
        #expect(refusal(changes) == reason)
    }

    @Test("vendor ids are one id in either case")
    func vendorID() throws {
        let lower = try read(["idfv": "5b1c7e3a-8a41-4f0e-9c55-0d0a4e6b7f21"])
        #expect(lower.installID == Device().installID)
        #expect(try read(["idfv": "kept As It Is"]).installID == "kept As It Is")
    }

    @Test("a JSON body is read as a form is")
    func json() throws {
        let body = """
            {"i": "com.example.rides", "idfv": "X1", "n": "ride", "skan_conversion_value": 5,
             "total_revenue_by_currency": {"USD": 1.5}, "skan_first_call_timestamp": null}
            """
        let request = try ConversionRequest(
            .event, ConversionParameters(json: Array(body.utf8)), apps: Shipped.apps(),
            nowMilliseconds: Time.noon)
        #expect(request.fine == 5)
        #expect(request.totalRevenueMicros == ["USD": 1_500_000])
        #expect(throws: Rejection(.wrongType, "the body is not an object")) {
            try ConversionParameters(json: Array("[]".utf8))
        }
    }

    @Test("answers have the guide's fields")
    func answers() {
        #expect(ConversionAnswer(fine: 7).json == #"{"status":"ok","conversion_value":7}"#)
        #expect(
            ConversionAnswer(fine: 7, coarse: .medium, locksWindow: false).json
                == #"{"status":"ok","conversion_value":7,"skan_updated_coarse_value":1,"#
                + #""coarse_conversion_value":"medium","skan_updated_lock_window_value":false}"#)
        #expect(ConversionAnswer(reason: "why").json == #"{"status":"ok","reason":"why"}"#)
        #expect(
            ConversionAnswer.json(refused: Rejection(.missingField, "idfv is missing"))
                == #"{"status":"error","error":"missing_field","detail":"idfv is missing","#
                + #""reason":"idfv is missing"}"#)
    }

    @Test("the test mode walks 0, 1, 2, and then answers an empty text")
    func testMode() throws {
        var answers: [String] = []
        for current in ["", "0", "1", "2", "63"] {
            answers.append(
                try ConversionTestMode.json(
                    ConversionParameters([(name: "conversion_value", value: current)])))
        }
        #expect(
            answers == [
                #"{"status":"ok","conversion_value":0}"#, #"{"status":"ok","conversion_value":1}"#,
                #"{"status":"ok","conversion_value":2}"#, #"{"status":"ok","conversion_value":""}"#,
                #"{"status":"ok","conversion_value":""}"#,
            ])
    }
}
