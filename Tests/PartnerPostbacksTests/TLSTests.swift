import Foundation
import NIOSSL
import Testing

@testable import PartnerPostbacks

@Suite("Partners over TLS", .serialized)
struct TLSTests {
    /// A partner whose certificate, which the sender trusts, is for `name.example`.
    private func place(
        host: String, isTrusted: Bool = true
    ) throws -> (ScriptedPartner, DeliveryPlace) {
        func path(_ kind: String) throws -> String {
            try #require(
                Bundle.module.url(
                    forResource: "name.example", withExtension: kind, subdirectory: "Certificates")
            ).path()
        }
        let certificates = try NIOSSLCertificate.fromPEMFile(path("pem"))
        let server = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: path("key"), format: .pem)))
        let partner = try ScriptedPartner(tls: NIOSSLContext(configuration: server))
        var client = TLSConfiguration.makeClientConfiguration()
        if isTrusted { client.trustRoots = .certificates(certificates) }
        let place = try DeliveryPlace(
            ["acme": "url: https://\(host):\(partner.port)/a\nallow_private: true"],
            resolver: FixedResolver([["127.0.0.1"]]), tls: client)
        return (partner, place)
    }

    @Test("connected to the address that was looked at, the certificate is judged by the name")
    func name() throws {
        let (partner, place) = try place(host: "name.example")
        try place.accept(Documents.install())
        try place.sendDue()
        #expect(try place.delivery().state == .delivered)
        #expect(partner.requests.first?.headers["host"] == "name.example:\(partner.port)")
    }

    @Test("another name's certificate, and one that nobody vouches for, are no connection")
    func otherCertificate() throws {
        for (host, isTrusted) in [("other.example", true), ("name.example", false)] {
            let (partner, place) = try place(host: host, isTrusted: isTrusted)
            try place.accept(Documents.install())
            try place.sendDue()
            #expect(partner.requests.isEmpty)
            #expect(try place.delivery().state == .pending)
            let attempt = try #require(
                try place.store.history(of: Documents.id).first?.attempts.first)
            #expect(attempt.fault?.hasPrefix("tls: ") == true, "\(attempt.fault ?? "")")
        }
    }
}
