import Foundation
import NIOSSL
import TestKit
import Testing

@testable import Deliveries
@testable import HTTPClient

@Suite("Partners over TLS", .serialized)
struct TLSTests {
    /// A partner with a trusted certificate for `name.example`.
    private func workspace(
        host: String, isTrusted: Bool = true, certificate: String = "name.example"
    ) throws -> (ScriptedPartner, DeliveryWorkspace) {
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
        let workspace = try DeliveryWorkspace(
            ["acme": "url: https://\(host):\(partner.port)/a\nallow_private: true"],
            resolver: FixedResolver([["127.0.0.1"]]), authorities: isTrusted ? path("pem") : nil)
        return (partner, workspace)
    }

    @Test("connected to the address that was looked at, the certificate is judged by the name")
    func name() throws {
        let (partner, workspace) = try workspace(host: "name.example")
        try workspace.ingest(Documents.install())
        try workspace.sendDue()
        #expect(try workspace.delivery().state == .delivered)
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
        let (partner, workspace) = try workspace(
            host: host, isTrusted: isTrusted, certificate: certificate)
        try workspace.ingest(Documents.install())
        try workspace.sendDue()
        #expect(partner.requests.isEmpty)
        #expect(try workspace.delivery().state == .pending)
        let attempt = try #require(
            try workspace.store.history(of: Documents.id).first?.attempts.first)
        #expect(attempt.fault?.hasPrefix(words) == true, "\(attempt.fault ?? "")")
    }
}
