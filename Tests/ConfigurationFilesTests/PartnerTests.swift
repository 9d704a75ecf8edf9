import ConfigurationValues
import TestKit
import Testing

@Suite("Partners")
struct PartnerTests {
    private func partners(_ text: String) throws -> [Partner] {
        try TemporaryPipelines(["partners/some-1.yaml": text]).read { try $0.partners() }
    }

    @Test("every key is read; networks are lower-cased, and an absent filter is nil")
    func everyKey() throws {
        let partner = try #require(
            try partners(
                """
                name: some-1
                trust: [valid, development, invalid, unverifiable]
                filter: {networks: [N.Example], apps: [7, "8"], windows: [0, 2]}
                delivery: {url: "http://127.0.0.1:80/a?b={c}", allow_private: true}
                """
            ).first
        )
        #expect(partner.trust == Set(Partner.Verdict.allCases))
        #expect(partner.filter.networks == ["n.example"])
        #expect(partner.filter.apps == [7, 8])
        #expect(partner.delivery.url.text == "http://127.0.0.1:80/a?b={c}")
        #expect(partner.delivery.allowPrivate)
        #expect(partner.filter.windows == [0, 2])

        let open = try #require(
            try partners("name: some-1\ntrust: [valid]\ndelivery: {url: HTTPS://example.com}\n")
                .first)
        #expect(open.filter.networks == nil)
        #expect(open.filter.apps == nil && open.filter.windows == nil)
        #expect(!open.delivery.allowPrivate)
    }

    @Test("every key of delivery is read, and has the default that the documentation says")
    func delivery() throws {
        let full = try #require(
            try partners(
                """
                name: some-1
                trust: [valid]
                delivery:
                  url: https://e
                  method: PUT
                  headers: {X-A: "1", X-B: "env:B"}
                  body: {json: {a: ["{id}", 1, null], b: {c: "2"}}}
                  preset: adjust
                  missing: {"*": hold, a: empty}
                  timeout_seconds: 7
                  concurrency: 64
                  rate_per_second: 9
                  secret_file: s.txt
                """
            ).first
        ).delivery
        #expect(full.method == .put)
        #expect(full.headers.map(\.name.text) == ["X-A", "X-B"])
        #expect(full.headers.map(\.value.text) == ["1", "env:B"])
        #expect(full.preset == .adjust)
        #expect(full.missing.byDefault == .hold)
        #expect(full.missing.byField.map(\.name.text) == ["a"])
        #expect([full.timeoutSeconds, full.concurrency, full.ratePerSecond] == [7, 64, 9])
        #expect(full.secretFile?.text == "s.txt")
        guard case .jsonTemplate(.object(let fields))? = full.body,
            case .array(let elements)? = fields.first?.value
        else { throw FixtureFault.otherShape }
        #expect(fields.map(\.name.text) == ["a", "b"])
        #expect(elements.dropFirst() == [.literal("1"), .literal("null")])

        let bare = try #require(
            try partners("name: some-1\ntrust: [valid]\ndelivery: {url: https://e}\n").first
        ).delivery
        #expect(bare.method == .post && bare.headers.isEmpty && bare.body == nil)
        #expect(bare.preset == nil && bare.missing.byField.isEmpty && bare.secretFile == nil)
        #expect(bare.missing.byDefault == .drop)
        #expect([bare.timeoutSeconds, bare.concurrency, bare.ratePerSecond] == [10, 4, nil])
    }

    private enum FixtureFault: Error { case otherShape }

    @Test("a fault names its place", arguments: FaultCase.all("partners"))
    func faults(_ wrong: FaultCase) throws {
        let pipelines = try TemporaryPipelines(["partners/some-1.yaml": wrong.text])
        let fault = pipelines.fault { dir throws(ConfigurationError) in try dir.partners() }
        #expect(fault == "partners/some-1.yaml:\(wrong.explanation)")
    }

    @Test(
        "an address is http or https and has a host",
        arguments: [
            "example.com", "ftp://e", "https://", "https:///a", "https://?a", "\"https://a b\"",
        ])
    func addresses(url: String) throws {
        let text = "name: some-1\ntrust: [valid]\ndelivery:\n  url: \(url)\n"
        let pipelines = try TemporaryPipelines(["partners/some-1.yaml": text])
        let fault = pipelines.fault { dir throws(ConfigurationError) in try dir.partners() }
        #expect(
            fault == "partners/some-1.yaml:4: delivery.url: is not an address:"
                + " write it as https://example.com/postbacks")
    }
}
