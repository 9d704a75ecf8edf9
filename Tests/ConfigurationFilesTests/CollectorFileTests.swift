import ConfigurationFiles
import ConfigurationValues
import Monitoring
import Testing

@Suite("collector.yaml")
struct CollectorFileTests {
    private let digest = String(repeating: "0a", count: 32)

    private func fault(_ yaml: String, files: [String: String] = [:]) throws -> String? {
        let workspace = try TemporaryPipelines(
            files.merging(["collector.yaml": yaml]) { own, _ in own })
        return workspace.fault { directory throws(ConfigurationError) in try directory.collector() }
    }

    @Test("may be absent, which is as an empty one")
    func absent() throws {
        let absent = try TemporaryPipelines().read { try $0.collector() }
        let empty = try TemporaryPipelines(["collector.yaml": ""]).read { try $0.collector() }
        #expect(absent == empty)
        #expect(absent.limits.maxBodyBytes == 1 << 20)
        #expect(absent.access.requiresKeys)
        #expect(absent.access.requiresNoticeTokens)
        #expect(absent.threads == nil)
    }

    @Test("names producers by the digest of their key, and keys of tokens by files")
    func keys() throws {
        let secret = String(repeating: "s", count: 32)
        let workspace = try TemporaryPipelines([
            "k1": secret + "\nignored\n",
            "collector.yaml": """
            keys:
              - {name: a, sha256: \(digest), topics: [bids, overlay-clicks], requests_per_second: 5}
            token_keys: [{id: k1, file: k1}]
            trusted_proxies: [10.0.0.0/8, "::1"]
            """,
        ])
        let pipeline = try workspace.read { try $0.collector() }
        #expect(pipeline.access.keys.map(\.digest) == [Array(repeating: 10, count: 32)])
        #expect(pipeline.access.keys.map(\.topics) == [["bids", "overlay-clicks"]])
        #expect(pipeline.tokenKeys.map(\.secret) == [Array(secret.utf8)])
        #expect(pipeline.trustedProxies == [AddressRange("10.0.0.0/8"), AddressRange("::1")])
    }

    @Test(
        "says what is wrong, and where",
        arguments: [
            ("max_body_byte: 5", "collector.yaml:1: max_body_byte: unknown key"),
            ("max_body_bytes: 5", "max_body_bytes: is 5: write 1024 to 67108864"),
            ("trusted_proxies: [10.0.0.0/33]", "trusted_proxies[0]: is '10.0.0.0/33'"),
            ("keys: [{name: a, sha256: 12, topics: [bids]}]", "keys[0].sha256: is not a SHA-256"),
            ("keys: [{name: a, topics: [bids]}]", "keys[0].sha256: is missing"),
            ("token_keys: [{id: a.b, file: k}]", "token_keys[0].id: is not an id"),
            ("token_keys: [{id: a, file: nowhere}]", "token_keys[0].file: the file"),
            ("token_keys: [{id: a, file: short}]", "'short' has fewer than 32 characters"),
            ("tls: {certificate: short}", "tls.key: is missing"),
        ])
    func faults(_ yaml: String, _ words: String) throws {
        let said = try #require(try fault(yaml, files: ["short": "short"]))
        #expect(said.contains(words), "\(said)")
        #expect(!said.contains("\n"))
    }

    @Test("lets producers to their own topics only")
    func topics() throws {
        let said = try fault("keys: [{name: a, sha256: \(digest), topics: [postbacks]}]")
        #expect(said?.contains("keys[0].topics[0]: is not a topic for producers") == true)
    }
}

@Suite("Ranges of addresses")
struct AddressRangeTests {
    @Test(
        "hold what they say",
        arguments: [
            ("10.0.0.0/8", "10.255.1.2", true), ("10.0.0.0/8", "11.0.0.0", false),
            ("192.0.2.128/25", "192.0.2.127", false), ("192.0.2.128/25", "192.0.2.200", true),
            ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
            ("0.0.0.0/0", "203.0.113.9", true), ("2001:db8::/33", "2001:db8:7fff::1", true),
            ("2001:db8::/33", "2001:db8:8000::1", false), ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("::/0", "10.1.2.3", false),
        ])
    func contains(_ range: String, _ address: String, _ isIn: Bool) throws {
        let range = try #require(AddressRange(range))
        let bytes = try #require(AddressRange.bytes(of: address))
        #expect(range.contains(bytes) == isIn)
    }

    @Test(
        "are not read from anything else",
        arguments: [
            "", "10.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/08", "::/129", "a/8", "1.2.3.4/8/9",
        ])
    func noRange(_ text: String) { #expect(AddressRange(text) == nil) }
}
