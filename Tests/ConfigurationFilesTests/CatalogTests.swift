import ConfigurationValues
import Crypto
import Foundation
import Testing

@Suite("The catalog")
struct CatalogTests {
    private func catalog(_ text: String) throws -> Catalog {
        try TemporaryPipelines(["catalog.yaml": text]).read { try $0.catalog() }
    }

    private func fault(_ text: String) throws -> String? {
        try TemporaryPipelines(["catalog.yaml": text]).fault { dir throws(ConfigurationError) in
            try dir.catalog()
        }
    }

    private let campaigns = """
        campaigns:
          - {name: first, network: N.example, app: 1, campaign_id: 39, source_identifier: 5240}
          - {name: second, network: n.example, app: 1, source_identifier: "5239"}
          - {name: third, network: n.example, app: 1, source_identifier: "6139"}
          - {name: fourth, network: n.example, app: 2, source_identifier: "0052"}
          - {name: fifth, network: n.example, app: 3, source_identifier: 7, media_source: video}
          - {name: sixth, network: n.example, app: 3}
        """

    private func names(
        _ campaign: String, app: Int64 = 1, as kind: CampaignIDKind = .sourceIdentifier
    ) throws -> [String] {
        let match = try catalog(campaigns)
            .campaign(network: "N.EXAMPLE", app: app, campaign: campaign, as: kind)
        switch match {
        case .known(let campaign): return [campaign.name]
        case .ambiguous(let campaigns): return ["ambiguous"] + campaigns.map(\.name)
        case .unknown: return []
        }
    }

    @Test("networks are found in any case, by name or by mapping, and apps by id")
    func names() throws {
        let key = P256.Signing.PrivateKey().publicKey.derRepresentation.base64EncodedString()
        let catalog = try catalog(
            """
            networks:
              Abc.SKAdNetwork: Abc
              com.example: {name: Example, ad_signing_keys: ["\(key)"]}
            apps: {525463029: Rides, "7": 0}
            """)
        #expect(catalog.networkName("abc.skadnetwork") == "Abc")
        #expect(catalog.networkName("ABC.skadnetwork") == "Abc")
        #expect(catalog.networkName("other") == nil)
        #expect(catalog.networks["com.example"]?.adSigningKeys.map(\.text) == [key])
        #expect(catalog.networks["com.example"]?.adSigningKeys.map(\.line) == [3])
        #expect(catalog.appName(525_463_029) == "Rides")
        #expect(catalog.appName(7) == "0")
        #expect(catalog.appName(8) == nil)
    }

    @Test("a source identifier is found by itself and by its last three and two digits")
    func suffixes() throws {
        for text in ["5239", "239"] { #expect(try names(text) == ["second"]) }
        for text in ["5240", "240", "40"] { #expect(try names(text) == ["first"]) }
        for text in ["9", "52", "523", "15239", "", "x"] { #expect(try names(text) == []) }
    }

    @Test("more than one campaign is ambiguous, in the order of the catalog")
    func ambiguous() throws {
        #expect(try names("39") == ["ambiguous", "second", "third"])
        #expect(try names("39", as: .either) == ["ambiguous", "first", "second", "third"])
        #expect(try names("39", as: .campaignID) == ["first"])
    }

    @Test("leading zeros of a source identifier are digits; one digit stands for itself only")
    func digits() throws {
        for text in ["0052", "052", "52"] { #expect(try names(text, app: 2) == ["fourth"]) }
        #expect(try names("7", app: 3) == ["fifth"])
        #expect(try names("", app: 3, as: .either) == ["sixth"], "a campaign without ids")
        #expect(try names("5239", app: 2) == [], "another app")
    }

    @Test("ids are lower-cased by ASCII letters only, and compare as bytes")
    func asciiOnly() throws {
        let catalog = try catalog("networks: {k.example: Kelvin}")
        #expect(catalog.networkName("K.EXAMPLE") == "Kelvin")
        #expect(catalog.networkName("\u{212A}.example") == nil)
    }

    @Test("an offer of an app is its campaign, of that app only")
    func offers() throws {
        let catalog = try catalog(
            """
            campaigns:
              - {name: spring, network: n, app: 1, partner: Agency,
                 offers: [introductory, "promotional:a", "code:B", "win_back:c", "retention:d"]}
            """)
        for offer in ["introductory", "promotional:a", "code:B", "win_back:c", "retention:d"] {
            #expect(catalog.campaign(app: 1, offer: offer)?.name == "spring")
        }
        #expect(catalog.campaign(app: 2, offer: "introductory") == nil)
        #expect(catalog.campaign(app: 1, offer: "promotional:A") == nil)
        #expect(catalog.campaigns.map(\.partner) == ["Agency"])
    }

    @Test("what several campaigns end with is listed, by network, app and digits")
    func collisions() throws {
        let collisions = try catalog(campaigns).suffixCollisions
        #expect(collisions.map(\.suffix) == ["39"])
        #expect(collisions.map(\.app) == [1])
        #expect(collisions.first?.campaigns.map(\.name) == ["second", "third"])
    }

    @Test(
        "a fault names its place",
        arguments: [
            (
                "networks:\n  a.b: x\n  A.B: y\n",
                "catalog.yaml:3: networks.A.B: is an earlier id in another case:"
                    + " keep one"
            ),
            (
                "networks: {a b: x}",
                "catalog.yaml:1: networks.a b: is not an ad network: write its id,"
                    + " for example example.skadnetwork"
            ),
            (
                "networks:\n  a:\n    name: x\n    keys: []\n",
                "catalog.yaml:4: networks.a.keys: unknown key; known here: name, ad_signing_keys"
            ),
            (
                "networks:\n  a: {ad_signing_keys: []}\n",
                "catalog.yaml:2: networks.a.name: is missing: add it"
            ),
            (
                "apps:\n  1: one\n  \"1\": again\n",
                "catalog.yaml:2: apps.1: key '1' occurs more than once, first here: keep one"
            ),
            ("apps:\n  0: x\n", "catalog.yaml:2: apps.0: the key must be 1 or more"),
            (
                "apps:\n  a: x\n",
                "catalog.yaml:2: apps.a: the key must be a whole number in plain digits"
            ),
            ("apps: {1: }", "catalog.yaml:1: apps.1: must be a name, but is empty"),
            (
                "apps: {0123: x}",
                "catalog.yaml:1: apps.0123: '0123' starts with 0:"
                    + " write the number without leading zeros"
            ),
            (
                "campaigns:\n  - name: a\n    app: 1\n",
                "catalog.yaml:2: campaigns[0].network: is missing: add it"
            ),
            (
                "campaigns:\n  - name: a\n    network: n\n    app: 1\n    campaign_id: 101\n",
                "catalog.yaml:5: campaigns[0].campaign_id: is 101: write 1 to 100"
            ),
            (
                "campaigns:\n  - {name: a, network: n, app: 1, source_identifier: 12345}\n",
                "catalog.yaml:2: campaigns[0].source_identifier: is '12345':"
                    + " write a source identifier of 1 to 4 digits"
            ),
            (
                "campaigns:\n  - {name: a, network: n, app: 1, campaign_id: 5}\n"
                    + "  - {name: b, network: N, app: 1, campaign_id: 5}\n",
                "catalog.yaml:3: campaigns[1]: campaign_id '5' belongs to an earlier campaign of this"
                    + " network and app: give each campaign its own"
            ),
            (
                "campaigns:\n  - name: a\n    network: n\n    app: 1\n    offers: [code]\n",
                "catalog.yaml:5: campaigns[0].offers[0]: is 'code': write introductory,"
                    + " promotional:<id>, code:<name>, win_back:<id> or retention:<id>"
            ),
            (
                "campaigns:\n  - {name: a, network: n, app: 1, offers: [introductory]}\n"
                    + "  - {name: b, network: m, app: 1, offers: [introductory]}\n",
                "catalog.yaml:3: campaigns[1]: offer 'introductory' already belongs to a campaign of this app: give each offer to one campaign"
            ),
        ]
    )
    func faults(text: String, words: String) throws {
        #expect(try fault(text) == words)
    }
}
