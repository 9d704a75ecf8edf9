import Foundation
import Testing

@testable import PartnerPostbacks

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
