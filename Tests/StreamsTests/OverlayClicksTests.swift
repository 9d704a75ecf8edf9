import EventLog
import JSON
import Streams
import Testing
import Wording

@Suite("Overlay clicks")
struct OverlayClicksTests {
    /// A click by a person that nothing speaks against.
    private static let click: Document = [
        "impression_id": "i", "initiated_by": "user", "sdk_version": "3.1.0",
        "overlay": ["present": 1, "click": 1], "presented_at_ms": 5, "clicked_at_ms": 5,
    ]

    private func counted(_ changes: KeyValuePairs<String, Document?>) throws -> [String] {
        try counted(TestRecord(Self.click.with(changes)))
    }

    /// Names of the measures that a record takes.
    private func counted(_ record: TestRecord) throws -> [String] {
        let result = try foldOverlayClicks([record])
        #expect(result.outcome(.accepted) == 1, "\(result.refused)")
        return OverlayClicksKey.table.measures.filter { result.sum("overlay-clicks", $0) == 1 }
    }

    @Test("clicks of people and of the SDK itself are never in one measure")
    func automaticClicks() throws {
        #expect(try counted([:]) == ["clicks", "user_clicks"])
        #expect(try counted(["initiated_by": "automatic"]) == ["automatic_clicks"])
    }

    @Test("of all reasons the first is counted: each, with all that come after it")
    func order() throws {
        let reasons: [(String, KeyValuePairs<String, Document?>)] = [
            ("test", ["test": true]), ("not_presented", ["overlay.present": 0]),
            ("unsupported_sdk", ["sdk_version": "3.0.9"]), ("untracked", ["overlay.click": 0]),
            ("early", ["clicked_at_ms": 4]), ("automatic_clicks", ["initiated_by": "automatic"]),
        ]
        for first in reasons.indices {
            var document = Self.click
            for (_, changes) in reasons[first...] { document = document.with(changes) }
            #expect(try counted(TestRecord(document)) == [reasons[first].0])
            #expect(
                try counted(TestRecord(Self.click.with(reasons[first].1))) == [reasons[first].0])
        }
    }

    @Test(
        "an overlay is presented unless it says 0 or no time is given; without one nothing is forbidden"
    )
    func presence() throws {
        for absent: Document? in [nil, .null] {
            #expect(try counted(["overlay": absent]) == ["clicks", "user_clicks"])
            #expect(try counted(["overlay.present": absent]) == ["clicks", "user_clicks"])
            #expect(try counted(["presented_at_ms": absent]) == ["not_presented"])
        }
        for other: Document in [1, 2, "0", true, []] {
            #expect(try counted(["overlay.present": other]) == ["clicks", "user_clicks"])
            #expect(try counted(["overlay.click": other]) == ["clicks", "user_clicks"])
        }
        for none: Document in [0, .raw("0e1"), false] {
            #expect(try counted(["overlay.present": none]) == ["not_presented"])
            #expect(try counted(["overlay.click": none]) == ["untracked"])
        }
    }

    @Test("versions compare part by part as numbers")
    func versions() throws {
        for supported: Document in ["3.1.0", "3.1", "3.1.0.1", "3.10", "3.2.0", "10.0.0", "4"] {
            #expect(try counted(["sdk_version": supported]) == ["clicks", "user_clicks"])
        }
        for old: Document? in ["3.0.99", "2.21.1", "2.9", "3", "", "x", ".3.1", nil, .null] {
            #expect(try counted(["sdk_version": old]) == ["unsupported_sdk"])
        }
    }

    @Test("the version gate is HyBid's: it does not apply to an SDK of another name")
    func otherSDKs() throws {
        for version: Document? in ["3.0.9", "x", nil] {
            for other: Document in ["Prebid", "hy-bid", ""] {
                #expect(
                    try counted(["sdk": other, "sdk_version": version]) == [
                        "clicks", "user_clicks",
                    ]
                )
            }
            for hybid: Document? in ["HyBid", "VerveHYBIDsdk", nil, .null] {
                #expect(
                    try counted(["sdk": hybid, "sdk_version": version]) == ["unsupported_sdk"])
            }
        }
        #expect(try counted(["sdk": "Prebid", "overlay.present": 0]) == ["not_presented"])
        let result = try foldOverlayClicks([TestRecord(Self.click.with(["sdk": 5]))])
        #expect(result.reasons == ["wrong_type"])
    }

    @Test("a test is marked by true or 1; other values that are no flag are refused")
    func testFlag() throws {
        for flag: Document in [true, 1, 1.0] {
            #expect(try counted(["test": flag]) == ["test"])
            #expect(try counted(Outbrain.click(["test": flag])) == ["test"])
        }
        for flag: Document in [false, 0, .null] {
            #expect(try counted(["test": flag]) == ["clicks", "user_clicks"])
        }
        for other in FieldRule.noFlags {
            let result = try foldOverlayClicks([TestRecord(Self.click.with(["test": other]))])
            #expect(result.reasons == ["wrong_type"], "\(other.text)")
        }
    }

    @Test(
        "a click at the very time of the presentation is a click, a millisecond before it is early")
    func early() throws {
        #expect(try counted(["clicked_at_ms": 5]) == ["clicks", "user_clicks"])
        #expect(try counted(["clicked_at_ms": 4]) == ["early"])
    }

    @Test("a click is known by its own id, else by its impression and who clicked")
    func identities() throws {
        func click(_ changes: KeyValuePairs<String, Document?>) -> TestRecord {
            TestRecord(Self.click.with(changes))
        }
        let different = [
            click([:]), click(["initiated_by": "automatic"]), click(["impression_id": "j"]),
            click(["click_id": "i"]), click(["click_id": "iuser"]),
        ]
        let same = [
            click(["click_id": .null]), click(["click_id": ""]),
            click(["click_id": "i", "impression_id": "k", "initiated_by": "automatic"]),
        ]
        let result = try foldOverlayClicks(different + same)
        #expect(result.outcome(.accepted) == Int64(different.count))
        #expect(result.outcome(.duplicates) == Int64(same.count))
    }

    @Test("asking for the address of a recommendation without a tap is no click, paid or not")
    func falseClicks() throws {
        for paid: Document in [true, false] {
            #expect(try counted(Outbrain.click(["opened": false, "paid": paid])) == ["early"])
        }
        #expect(try counted(Outbrain.click(["paid": false])) == ["clicks", "organic_clicks"])
        #expect(try counted(Outbrain.click(["opened": false, "test": true])) == ["test"])
    }

    @Test(
        "a paid click that leads to Outbrain, however its address is written",
        arguments: [
            "https://paid.outbrain.com/network/redir?p=abc", "https://paid.outbrain.com",
            "HTTPS://Paid.Outbrain.COM/x", "http://paid.outbrain.com:8080/",
            "//paid.outbrain.com/x",
            "https://paid.outbrain.com:/x", "https://user:secret@paid.outbrain.com/x",
            "https://a@b@paid.outbrain.com/", "https://paid.outbrain.com?x=https://evil.example/",
            "https://paid.outbrain.com#@evil.example", "https://paid.outbrain.com/@evil.example",
        ])
    func outbrainAddress(_ url: String) throws {
        #expect(try counted(Outbrain.click(["url": .string(url)])) == ["clicks", "paid_clicks"])
    }

    @Test(
        "a paid click that leads elsewhere, whatever its address looks like",
        arguments: [
            "https://evil.example/", "https://evil.example/?paid.outbrain.com",
            "https://evil.example/paid.outbrain.com", "https://evil.example/#//paid.outbrain.com/",
            "https://paid.outbrain.com@evil.example/",
            "https://paid.outbrain.com:443@evil.example/",
            "https://paid.outbrain.com:@evil.example/", "https://paid.outbrain.com.evil.example/",
            "https://evilpaid.outbrain.com/", "https://www.paid.outbrain.com/",
            "https://outbrain.com/", "https://paid-outbrain.com/",
            "https://paid.outbrain.com\\@evil.example/",
            "https://evil.example\\@paid.outbrain.com/", "https://paid.outbrain.com:x/",
            "https://paid.outbrain.com\t/", "https://paid.outbrain.com /",
            "https:/paid.outbrain.com/", "https:paid.outbrain.com/", "https:///paid.outbrain.com/",
            "paid.outbrain.com/network/redir", "paid.outbrain.com", "paid.outbrain.com:443/x",
            "/paid.outbrain.com/", "://paid.outbrain.com/", "1https://paid.outbrain.com/",
            "https://", "https://@/", "//", "", "https://paid%2Eoutbrain.com/", "https://[::1]/",
        ])
    func alteredAddress(_ url: String) throws {
        #expect(
            try counted(Outbrain.click(["url": .string(url)])) == [
                "clicks", "paid_clicks", "altered_urls",
            ])
        #expect(
            try counted(Outbrain.click(["url": .string(url), "paid": false])) == [
                "clicks", "organic_clicks",
            ])
    }
}
