import Foundation
import NIOSSL
import TestKit
import Testing

@testable import Deliveries

@Suite("Partners over TLS", .serialized)
struct TLSTests {
    /// A partner whose certificate, which the sender trusts, is for `name.example`.
    private func place(
        host: String, isTrusted: Bool = true, certificate: String = "name.example"
    ) throws -> (ScriptedPartner, DeliveryPlace) {
        func path(_ kind: String) throws -> String {
            try #require(
                Bundle.module.url(
                    forResource: kind == "pem" ? certificate : "name.example", withExtension: kind,
                    subdirectory: "Certificates")
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
        try place.ingest(Documents.install())
        try place.sendDue()
        #expect(try place.delivery().state == .delivered)
        #expect(partner.requests.first?.headers["host"] == "name.example:\(partner.port)")
    }

    @Test(
        "a certificate of another name, one that nobody vouches for and one that has expired are no connection, and are told apart",
        arguments: [
            (
                "other.example", true, "name.example",
                "tls: the certificate is for another name than the host in the url"
            ),
            (
                "name.example", false, "name.example",
                "tls: the certificate is not trusted: no authority known to this machine"
            ),
            (
                "name.example", true, "expired",
                "tls: the certificate has expired: it was valid until 2021-01-01T00:00:00Z"
            ),
            (
                "name.example", true, "future",
                "tls: the certificate is not valid yet: it is valid from 2120-01-01T00:00:00Z"
            ),
        ])
    func otherCertificate(
        _ host: String, _ isTrusted: Bool, _ certificate: String, _ words: String
    ) throws {
        let (partner, place) = try place(host: host, isTrusted: isTrusted, certificate: certificate)
        try place.ingest(Documents.install())
        try place.sendDue()
        #expect(partner.requests.isEmpty)
        #expect(try place.delivery().state == .pending)
        let attempt = try #require(try place.store.history(of: Documents.id).first?.attempts.first)
        #expect(attempt.fault?.hasPrefix(words) == true, "\(attempt.fault ?? "")")
    }
}

@Suite("A sender that has ended")
struct SenderEndTests {
    @Test("what is sent at the end is answered with a failure, and nothing is left open")
    func stopped() async throws {
        let files = try PartnerFiles("url: http://127.0.0.1:9/\nallow_private: true")
        let route = try #require(try files.routes().first)
        let request = try #require(try files.request(Documents.install()))
        let clients = PinnedClients(group: .singleton, connectSeconds: 1, tls: nil)
        clients.stop()
        let address = try #require(IPAddress(route.destination.host))
        #expect(clients.client(for: route.destination.host, at: address) == nil)
        // Sent while the sender is ending: every one is told of, or the process would end here.
        let sender = HTTPSender(partnerCount: 1)
        for _ in 0..<50 { sender.send(request, to: route.destination) { _ in } }
        sender.stop()
    }
}
