import ConfigurationValues
import Foundation
import Testing

@testable import Deliveries

@Suite("Signatures of Standard Webhooks")
struct SigningTests {
    private let location = PositionedText(text: "s", file: "f", line: 1, keyPath: "k")

    @Test("the published example has its published signature")
    func published() throws {
        for secret in [
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        ] {
            let signature = try SigningSecrets([secret], location).signature(
                id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestampSeconds: 1_614_265_330,
                body: Array(#"{"test": 2432232314}"#.utf8))
            #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
        }
    }

    @Test(
        "requests are signed over what is sent, at the time of the attempt, by every secret of the file"
    )
    func sent() throws {
        let files = try PartnerFiles("url: https://e.example/\nsecret_file: secrets/acme")
        let secrets = [
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", String(repeating: "QUJD", count: 8),
        ]
        try files.write("secrets/acme", secrets.joined(separator: "\n\n") + "\n")
        let request = try #require(
            try files.request(Documents.install(), nowMilliseconds: 1_614_265_330_999))
        func header(_ name: String) -> String? { request.headers.first { $0.name == name }?.value }
        #expect(header("webhook-id") == "\(Documents.id):1")
        #expect(header("webhook-timestamp") == "1614265330")
        let expected = try secrets.map {
            try SigningSecrets([$0], location).signature(
                id: "\(Documents.id):1", timestampSeconds: 1_614_265_330,
                body: Array(Documents.install().utf8))
        }
        #expect(header("webhook-signature") == expected.joined(separator: " "))
        #expect(request.headers.filter(\.isSecret).map(\.name) == ["webhook-signature"])
    }

    @Test(
        "what is no secret is refused without being shown",
        arguments: ["", "whsec_", "whsec_!!", "c2hvcnQ="])
    func faults(secret: String) throws {
        let files = try PartnerFiles("url: https://e.example/\nsecret_file: acme.txt")
        try files.write("acme.txt", secret + "\n")
        let fault = try #require(files.fault())
        #expect(fault.hasPrefix("partners/acme.yaml:5: delivery.secret_file: names a file with"))
        #expect(secret.isEmpty || !fault.contains(secret) || secret == "whsec_")
    }

    @Test(
        "a header may be a secret from a file, whose first line counts; it is sent and never previewed"
    )
    func headers() throws {
        let files = try PartnerFiles(
            "url: https://e.example/\nheaders: {Authorization: \"file:token\"}")
        try files.write("token", "Bearer s3cret\nmore\n")
        let route = try #require(try files.routes().first)
        let request = try route.request(Documents.read(Documents.install()), nowMilliseconds: 0)
        #expect(request.headers.first == .init("Authorization", "Bearer s3cret", isSecret: true))
        let preview = try PartnerPreview(
            of: Documents.read(Documents.install()), for: try files.partners()[0],
            timestampSeconds: 0)
        #expect(preview.request?.headers.first?.value == "***")
    }
}
