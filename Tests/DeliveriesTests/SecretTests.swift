import Foundation
import Testing

@testable import Deliveries
@testable import HTTPClient

@Suite("Secrets in templates")
struct SecretTests {
    private let secret = "s3cret/&\"?"
    private let delivery = """
        url: https://e.example/{secret.key}/p?token={secret.key}&a={sequence_index}
        headers: {Authorization: "Bearer {secret.key}", X-A: "{framework}"}
        body: {json: {key: "{secret.key}", text: "k={secret.key}", n: 1}}
        secrets: {key: "file:secrets/acme", other: "file:secrets/acme"}
        """

    @Test(
        "are read from their files, and sent encoded for the place: address, header, JSON and form")
    func sent() throws {
        let files = try PartnerFiles(delivery)
        try files.write("secrets/acme", secret + "\nmore\n")
        let request = try #require(try files.request(Documents.install()))
        let encoded = "s3cret%2F%26%22%3F"
        #expect(request.url == "https://e.example/\(encoded)/p?token=\(encoded)&a=0")
        #expect(request.headers.first == .init("Authorization", "Bearer \(secret)", isSecret: true))
        #expect(request.headers.filter(\.isSecret).map(\.name) == ["Authorization"])
        #expect(text(request.body) == #"{"key":"s3cret/&\"?","text":"k=s3cret/&\"?","n":1}"#)

        let form = try PartnerFiles(
            "url: https://e.example/\nbody: {form: {k: \"/{secret.key}\"}}\n"
                + "secrets: {key: \"file:secrets/acme\"}")
        try form.write("secrets/acme", secret)
        #expect(text(try form.request(Documents.install())?.body) == "k=%2F\(encoded)")
        let preview = try PartnerPreview(
            of: Documents.read(Documents.install()), for: try form.partners()[0],
            timestampSeconds: 0)
        #expect(text(preview.request?.body) == "k=%2F***")
    }

    @Test("are masked in a preview, for which they need not be there")
    func preview() throws {
        let files = try PartnerFiles(delivery)
        let preview = try PartnerPreview(
            of: Documents.read(Documents.install()), for: try files.partners()[0],
            timestampSeconds: 0)
        let request = try #require(preview.request)
        #expect(request.url == "https://e.example/***/p?token=***&a=0")
        #expect(request.headers.first?.value == "Bearer ***")
        #expect(text(request.body) == #"{"key":"***","text":"k=***","n":1}"#)
    }

    @Test("are nowhere in the deliveries, nor in what an attempt says that went wrong")
    func stored() throws {
        let files = try PartnerFiles(delivery)
        try files.write("secrets/acme", secret)
        let route = try #require(try files.routes().first)
        #expect(route.url.contains("{secret.key}"))
        #expect(!"\(route)".contains("s3cret"))
        let words = "no way to /s3cret%2F%26%22%3F or \(secret)"
        #expect(
            RequestResult.failed(.connection, detail: words).masked(by: route.template)
                == .failed(.connection, detail: "no way to /*** or ***"))
    }

    private func text(_ bytes: [UInt8]?) -> String? {
        bytes.map { String(decoding: $0, as: UTF8.self) }
    }
}
