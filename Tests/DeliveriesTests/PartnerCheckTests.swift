import Foundation
import Testing

@testable import Deliveries
@testable import HTTPClient

@Suite("What stands in the way of a partner")
struct PartnerCheckTests {
    /// Names that a test knows.
    private struct Names: HostResolver {
        var addresses: [String: String]

        func addresses(of host: String) throws(ResolutionFault) -> [IPAddress] {
            guard let address = addresses[host].flatMap({ IPAddress($0) }) else {
                throw ResolutionFault(description: "\(host): unknown here")
            }
            return [address]
        }
    }

    private func check(_ delivery: String) throws -> PartnerCheck {
        let files = try PartnerFiles(delivery)
        try files.write("secret", "s\n")
        let checks = PartnerCheck.all(
            try files.partners(), directory: files.path,
            resolver: Names(addresses: ["well.example": "8.8.8.8", "inside.example": "10.1.2.3"]))
        return try #require(checks.first)
    }

    @Test("one that is well has nothing said of it")
    func well() throws {
        let check = try check(
            "url: https://well.example/{transaction_id}\nheaders: {Authorization: \"file:secret\"}")
        #expect(check.wrong == [] && check.doubtful == [])
    }

    @Test(
        "what delivery would find out with the first document is said before, with its place",
        arguments: [
            ("url: http://10.0.0.1/", "4: delivery.url: cannot be used: 10.0.0.1, private"),
            (
                "url: http://inside.example/",
                "4: delivery.url: cannot be used: inside.example is 10.1.2.3, private"
            ),
            (
                "url: https://well.example/\nheaders: {Authorization: \"env:WEIR_TEST_NOT_SET\"}",
                "5: delivery.headers.Authorization: names the variable WEIR_TEST_NOT_SET, which is not set"
            ),
            (
                "url: https://well.example/\nsecret_file: nowhere",
                "5: delivery.secret_file: names the file"
            ),
        ])
    func wrong(_ delivery: String, _ words: String) throws {
        let check = try check(delivery)
        #expect(check.wrong.count == 1)
        #expect(
            check.wrong.first?.contains("partners/acme.yaml:\(words)") == true, "\(check.wrong)")
        #expect(check.doubtful == [])
    }

    @Test("a name without an address, an url that is not set and what would be held are doubtful")
    func doubtful() throws {
        let unknown = try check("url: https://unknown.example/")
        #expect(unknown.doubtful.first?.contains("cannot be resolved now: unknown.example") == true)
        let off = try check("headers: {Authorization: \"env:WEIR_TEST_NOT_SET\"}")
        #expect(off.doubtful.first?.contains("partner acme is off") == true)
        let held = try check("url: https://well.example/{postback.source_identifier}")
        #expect(
            held.doubtful.first?.hasSuffix(
                "path: {postback.source_identifier} has no value, so these documents are held: SKAdNetwork 1.0, SKAdNetwork 2.0, SKAdNetwork 2.1, SKAdNetwork 2.2, SKAdNetwork 3.0"
            ) == true, "\(held.doubtful)")
        for check in [unknown, off, held] {
            #expect(check.wrong == [] && check.doubtful.count == 1)
        }
    }

    @Test("every macro has a value in a sample, and every sample is a document")
    func samples() throws {
        let documents = try SampleDocument.all(partner: "acme").map { try Documents.read($0.text) }
        for macro in Macro.allCases {
            #expect(documents.contains { $0.value(macro) != nil }, "\(macro.rawValue)")
        }
        #expect(
            documents.contains { $0.value(.withdrawn) != nil && $0.value(.conversionValue) == nil })
    }
}
