import Foundation
import Synchronization
import TestKit
import Testing

@testable import Deliveries
@testable import HTTPClient

@Suite("Addresses that are refused", .serialized)
struct AddressTests {
    @Test(
        "private, local and other special addresses",
        arguments: [
            "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255",
            "127.0.0.1", "127.1.2.3", "169.254.0.1", "169.254.169.254", "172.16.0.1",
            "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1",
            "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255",
            "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
            "::ffff:169.254.169.254", "::ffff:0:192.168.0.1", "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "100::1",
            "2001::1", "2001:db8::1", "3fff::1", "fc00::1", "fd12:3456::1", "fd00:ec2::254",
            "fe80::1", "febf::1", "fec0::1", "ff02::1", "::7f00:1", "::a00:1",
        ])
    func refused(text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.refusal != nil, "\(address)")
    }

    @Test(
        "addresses that anybody can have are not",
        arguments: [
            "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
            "128.0.0.1", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.167.255.255",
            "192.169.0.0", "223.255.255.255", "2606:4700:4700::1111", "2a00:1450::1",
            "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1",
        ])
    func allowed(text: String) throws { #expect(try #require(IPAddress(text)).refusal == nil) }

    @Test(
        "other ways to write an address are none that a file may have",
        arguments: [
            "2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1", "127.0.0.01", "1.2.3",
            "017700000001", "127.0.0.1.", "localhost.1", "[::1%25lo]", "[::127.0.0.1",
            "ⓛocalhost", "e..", "",
        ])
    func notations(host: String) throws {
        #expect(try PartnerFiles("url: \"http://\(host)/\"").fault() != nil)
    }

    @Test(
        "a partner whose address or name leads there is not connected to, and its delivery is dead",
        arguments: ["127.0.0.1", "[::1]", "localhost", "name.example"])
    func notConnected(host: String) throws {
        let partner = try ScriptedPartner()
        let resolver = FixedResolver([["127.0.0.1"]])
        let workspace = try DeliveryWorkspace(
            ["acme": "url: http://\(host):\(partner.port)/"], resolver: resolver)
        try workspace.ingest(Documents.install())
        try workspace.sendAll()
        let delivery = try workspace.delivery()
        #expect(delivery.state == .dead)
        #expect(delivery.reason.hasPrefix("address: "), "\(delivery.reason)")
        #expect(partner.requests.isEmpty)
    }

    @Test("one special address among those of a name refuses all of them")
    func mixed() throws {
        let workspace = try DeliveryWorkspace(
            ["acme": "url: http://name.example:1/"],
            resolver: FixedResolver([["192.0.43.10", "10.1.2.3"]]))
        try workspace.ingest(Documents.install())
        try workspace.sendAll()
        #expect(
            try workspace.delivery().reason
                == "address: name.example is 10.1.2.3, private: set allow_private to allow it")
    }

    @Test(
        "the address that was looked at is the one that is connected to: a name is asked for once")
    func rebinding() throws {
        let partner = try ScriptedPartner()
        // The second answer would lead elsewhere.
        let resolver = FixedResolver([["127.0.0.1"], ["127.0.0.2"]])
        let workspace = try DeliveryWorkspace(
            ["acme": "url: http://name.example:\(partner.port)/\nallow_private: true"],
            resolver: resolver)
        try workspace.ingest(Documents.install())
        try workspace.sendDue()
        #expect(partner.requests.count == 1)
        #expect(partner.requests.first?.headers["host"] == "name.example:\(partner.port)")
        #expect(resolver.askedCount == 1)
    }

    @Test("when an address of a name cannot be reached, its next one is tried within the attempt")
    func nextAddress() throws {
        let partner = try ScriptedPartner()
        let workspace = try DeliveryWorkspace(
            ["acme": "url: http://name.example:\(partner.port)/\nallow_private: true"],
            resolver: FixedResolver([["127.0.0.3", "127.0.0.1"]]))
        try workspace.ingest(Documents.install())
        try workspace.sendDue()
        #expect(partner.requests.count == 1)
        #expect(try workspace.delivery().attempts == 1)
    }

    @Test("a name without an address is tried again; a slow name server delays nobody else")
    func slowNames() throws {
        let well = try ScriptedPartner()
        let resolver = SlowResolver()
        let workspace = try DeliveryWorkspace(
            [
                "acme": "url: http://slow.example/\nallow_private: true\ntimeout_seconds: 1",
                "well": "url: http://127.0.0.1:\(well.port)/\nallow_private: true",
            ], resolver: resolver)
        defer { withExtendedLifetime(workspace) { resolver.answer() } }
        try workspace.ingest(
            Documents.install(), Documents.install(id: Documents.id(1), partner: "well"))
        try workspace.run { try workspace.states(partner: "well") == [.delivered: 1] }
        // The other name's server has not answered yet, and does not before all of this is over.
        try workspace.sendDue()
        #expect(try workspace.delivery().state == .pending)
        let attempts = try #require(try workspace.store.history(of: Documents.id).first?.attempts)
        #expect(attempts.map(\.fault) == ["timeout: no answer in time"])
    }
}

/// Answers what it was made with, one answer after the other, the last for ever.
final class FixedResolver: HostResolver {
    private let answers: [[String]]
    private let asked = Mutex(0)

    init(_ answers: [[String]]) { self.answers = answers }

    var askedCount: Int { asked.withLock { $0 } }

    func addresses(of host: String) throws(ResolutionFault) -> [IPAddress] {
        let index = asked.withLock { asked in
            defer { asked += 1 }
            return min(asked, answers.count - 1)
        }
        return answers[index].compactMap { IPAddress($0) }
    }
}

/// Takes longer than anybody waits.
private final class SlowResolver: HostResolver {
    private let isToAnswer = DispatchSemaphore(value: 0)

    func answer() { isToAnswer.signal() }

    func addresses(of host: String) throws(ResolutionFault) -> [IPAddress] {
        _ = isToAnswer.wait(timeout: .now() + 2 * Wait.seconds)
        throw ResolutionFault(description: "\(host): no answer")
    }
}
