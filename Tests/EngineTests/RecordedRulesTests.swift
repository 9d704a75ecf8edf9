import ConfigurationFiles
import ConfigurationValues
import ConversionModels
import Crypto
import Foundation
import Signatures
import Store
import Streams
import TestKit
import Testing

@testable import Engine

@Suite("Recorded configurations")
struct RecordedRulesTests {
    private static let model = """
        app: 525463029
        versions:
          - id: 'fir"st\\'
            effective_from: 2026-01-01T00:00:00Z
            currency: USD
            fine:
              fields:
                - {bits: [0, 1], kind: revenue, event: purchase, buckets: [0, 1.5, 5], max: 100}
                - {bits: [2, 2], kind: flags, flags: {"2": opened}}
                - {bits: [3, 3], kind: days}
                - {bits: [4, 4], kind: events, values: {"1": {event: level, count_min: 2, count_max: 3}}}
                - {bits: [5, 5], kind: table, values: {"0": [], "1": [{event: a, revenue_min: 1}, {event: b}]}}
            coarse: {"0": {low: [{event: small}], high: [{event: large, revenue_min: 5, revenue_max: 9}]}, "2": {}}
          - id: second
            effective_from: 2026-02-01T00:00:00Z
            currency: EUR
            lock_hours: {"0": 24, "2": 500}
            fine: {fields: []}

        """

    @Test("Rules of postbacks that are read back are the same, models and partners among them")
    func postbacks() throws {
        let place = try Workplace()
        try place.write(
            "postbacks.yaml",
            Samples.trustedKeys + "trust_development: true\nmax_record_bytes: 9000\n")
        try place.write(Samples.modelFile, Self.model)
        try place.write("partners/acme.yaml", Samples.partner)
        try place.write(
            "partners/other.yaml",
            """
            name: other
            trust: [valid, invalid]
            filter: {networks: [b.skadnetwork, a.skadnetwork], apps: [7, 3], windows: [2, 0]}
            delivery: {url: "https://partner.example/postbacks"}

            """)
        let pipelines = PipelineDirectory(place.pipelines)
        let rules = try PostbacksFold.rules(in: pipelines)
        let configuration = rules.configuration
        let read = try PostbacksRules(
            recorded: configuration, from: .pipelines(PipelineDirectory("none")))
        #expect(read.configuration == configuration)
        #expect(read.models.map(\.canonicalText) == rules.models.map(\.canonicalText))
        #expect(read.partners == rules.partners)
        #expect(read.maxRecordBytes == 9000)
        #expect(read.trustsDevelopment)
        #expect(try [ConversionModel](recordedIn: configuration.text) == read.models)
        let model = try #require(read.models.first)
        #expect(try ConversionModel(canonicalText: model.canonicalText) == model)
        #expect(
            model.versions.map { $0.decode(fine: 63) }
                == rules.models[0].versions.map { $0.decode(fine: 63) })
    }

    @Test("Keys of AdAttributionKit and of networks' ads are recorded, whatever their ids hold")
    func keys() throws {
        let key = AdAttributionKitKey(kid: "apple dev/1 x", key: "QUJD", verdict: .development)
        let place = try Workplace()
        var rules = try PostbacksFold.rules(in: PipelineDirectory(place.pipelines))
        rules.adAttributionKitKeys = [key]
        rules.productionKeys = ["b", "a"]
        let read = try PostbacksRules(
            recorded: rules.configuration,
            from: .pipelines(PipelineDirectory(place.pipelines)))
        #expect(read.adAttributionKitKeys == [key])
        #expect(read.productionKeys == ["a", "b"])
        let bids = BidsRules(
            window: WindowedRules(
                stream: "bids", dedupeWindowMilliseconds: 3_600_000, maxRecordBytes: 5),
            adSigningKeys: ["n.skadnetwork": ["y", "x"]])
        let readBids = try BidsRules(
            recorded: bids.configuration,
            from: .pipelines(PipelineDirectory(place.pipelines)))
        #expect(readBids.configuration == bids.configuration)
        #expect(readBids.adSigningKeys == ["n.skadnetwork": ["x", "y"]])
    }

    @Test("Roots and secrets are found by their digests; a secret that is gone is named by its app")
    func secrets() throws {
        let place = try Workplace()
        func write(_ secrets: String) throws {
            try place.write(
                "store-notifications.yaml",
                """
                environments: [Sandbox]
                apps:
                  - {bundle_id: com.example.puzzle, app_apple_id: 12, shared_secrets: [\(secrets)]}
                  - {bundle_id: com.example.other}

                """)
        }
        try write("one, two")
        let pipelines = PipelineDirectory(place.pipelines)
        let configuration = try StoreNotificationsFold.rules(in: pipelines).configuration
        #expect(!configuration.text.contains("two"))
        try write("two, three, one")
        let read = try StoreNotificationsRules(recorded: configuration, from: .pipelines(pipelines))
        #expect(read.configuration == configuration)
        #expect(read.apps.map { $0.secrets.values.sorted() } == [[], ["one", "two"]])
        try write("three")
        #expect(throws: RecordedConfigurationFault.secretMissing(bundleID: "com.example.puzzle")) {
            try StoreNotificationsRules(recorded: configuration, from: .pipelines(pipelines))
        }
    }

    @Test("A text of another version is an error in words, and never folds something else")
    func otherVersions() throws {
        let place = try Workplace()
        let pipelines = PipelineDirectory(place.pipelines)
        var recorded = try PostbacksFold.rules(in: pipelines).configuration
        #expect(throws: RecordedConfigurationFault.otherMeaning) {
            let text = recorded.text.replacingOccurrences(of: "\"rules\":3", with: "\"rules\":4")
            _ = try PostbacksRules(
                recorded: .init(text: text, dedupeWindowMilliseconds: nil),
                from: .pipelines(pipelines))
        }
        recorded.text = recorded.text.replacingOccurrences(of: "trust_dev", with: "trusts_dev")
        #expect(throws: RecordedConfigurationFault.unreadable(place: "trust_development")) {
            try PostbacksRules(recorded: recorded, from: .pipelines(pipelines))
        }
    }
}

@Suite("Keys that networks sign ads with")
struct AdSigningKeysTests {
    private func keys(_ key: String) throws -> [String: [VerificationKey]] {
        let place = try Workplace()
        try place.write(
            "catalog.yaml",
            "networks:\n  A.example:\n    name: x\n    ad_signing_keys:\n      - \"\(key)\"\n")
        return try BidsFold.adSigningKeys(of: PipelineDirectory(place.pipelines).catalog())
    }

    @Test("keys on P-256 and on P-192 are taken: large networks sign with both")
    func curves() throws {
        let p256 = P256.Signing.PrivateKey().publicKey.derRepresentation.base64EncodedString()
        guard case .p256? = try keys(p256)["a.example"]?.first else {
            Issue.record("a key on P-256 is none")
            return
        }
        let p192 =
            "MEkwEwYHKoZIzj0CAQYIKoZIzj0DAQEDMgAEMyHD625uvsmGq4C43cQ9BnfN2xslVT5V1nOmAMP6qaRRUll3"
            + "PB1JYmgSm+62sosG"
        guard case .p192? = try keys(p192)["a.example"]?.first else {
            Issue.record("a key on P-192 is none")
            return
        }
    }

    @Test("any other text is a fault at its line")
    func faults() throws {
        let p384 = P384.Signing.PrivateKey().publicKey.derRepresentation.base64EncodedString()
        let raw = P256.Signing.PrivateKey().publicKey.x963Representation.base64EncodedString()
        for key in [p384, raw, "KEY", "MEkwEwYHKoZIzj0CAQYIKoZIzj0DAQEDMgAE"] {
            let fault = #expect(throws: ConfigurationError.self) { try keys(key) }
            #expect(
                fault?.description.hasSuffix(
                    "catalog.yaml:5: networks.A.example.ad_signing_keys[0]: is not a P-192 or P-256 "
                        + "public key: give its SubjectPublicKeyInfo (DER) in base64") == true,
                "\(fault?.description ?? "")")
        }
    }
}
