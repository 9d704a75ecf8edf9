import TestKit

/// Copies that are signed once, since signing is dear.
struct PostbackPool: Sendable {
    static let shared: PostbackPool = {
        do { return try PostbackPool() } catch { fatalError("The pool of postbacks: \(error)") }
    }()

    let production = PostbackSigner()
    let development = PostbackSigner()
    /// The copies of one postback each, the genuine ones first.
    private(set) var groups: [[PostbacksModel.Postback]] = []

    private init() throws {
        for number in 0..<28 {
            let version = ["2.1", "2.2", "3.0", "4.0", "4.0", "", ""][number % 7]
            var valid = PostbacksModel.Postback(
                version: version, network: "net\(number / 2 % 3).skadnetwork",
                transaction: "00000000-0000-4000-8000-a\(number / 2)",
                campaign: version == "4.0" || version == "" ? "\(number)39" : "\(number + 1)",
                app: 5_000_000_000 + Int64(number % 3))
            if number % 3 == 0 { valid.sourceApp = 1_000 + Int64(number) }
            if number % 3 == 1 && version != "" { valid.sourceDomain = "example.com" }
            valid.fidelity = version == "" ? nil : number % 2
            let conversionTypes = ["download", "redownload", "re-engagement", "pre-order", ""]
            valid.conversionType = conversionTypes[number % (version == "" ? 5 : 2)]
            let marketplaces = [nil, "com.apple.AppStore", "", "com.example.Market"]
            valid.marketplace = version == "" ? marketplaces[number % 4] : nil
            valid.won = number % 4 != 3
            valid.index = number % 3
            valid.unsigned.interaction = version == "" ? "click" : nil
            try sign(&valid, with: production, kid: "simulation/0")
            var developed = valid
            developed.app += 10
            developed.verdict = "development"
            try sign(&developed, with: development, kid: "simulation\\/1")
            var altered = valid
            altered.app += 20
            if version == "" {
                // The signature of another payload, or a key that nobody knows.
                let kid = number % 2 == 0 ? "simulation/0" : "nobodys"
                let signature = valid.seal?.split(separator: ".").last.map(String.init)
                altered.verdict = number % 2 == 0 ? "invalid" : "unverifiable"
                altered.seal = PostbackWire.jws(
                    kid, PostbackWire.claims(of: altered), signature ?? "")
            } else {
                altered.forge()
            }
            var shouted = valid
            shouted.network = valid.network.uppercased()
            shouted.transaction = valid.transaction.uppercased()
            try sign(&shouted, with: production, kid: "simulation/0")
            groups.append([valid, shouted, developed, altered])
            if version == "4.0" {
                altered.version = number % 7 == 3 ? "5.0" : "1.9"
                altered.verdict = "unverifiable"
                groups[number].append(altered)
            }
        }
        try addOddities()
    }

    /// What relays alter, and Apple's own, whose key on P-192 no test has.
    private mutating func addOddities() throws {
        var relayed = PostbacksModel.Postback(
            version: "2.2", network: "net0.skadnetwork", transaction: "00000000-0000-4000-8000-b1",
            campaign: "7", app: 5_000_000_000)
        relayed.fidelity = nil
        try sign(&relayed, with: production, kid: "")
        var first = PostbacksModel.Postback(
            version: "1.0", network: "su67r6k2v3.skadnetwork",
            transaction: "583e867c-0bc5-4980-8766-6d8cf992f24a", campaign: "51", app: 1_176_027_022)
        first.seal = "MDMCGELMEaJCS0y1JXqjZujcMXdJel8boLV6PAIXFNKYjzROJY2CxAmU+HoPQfTJCyjoS6k="
        var second = PostbacksModel.Postback(
            version: "2.0", network: "v9wttpbfk9.skadnetwork",
            transaction: "c4a69044-1c85-4755-9e25-97d8daa30c55", campaign: "75", app: 1_176_027_022)
        second.conversionType = "redownload"
        second.seal = "MDQCGDYZvzXjCRDEcFjJu2xd4kaOPwK+sJpUbgIYZRiWFh0Lpz7KFnF3qrXdyl9sAG8j6gne"
        groups += [[relayed], [first], [second]]
    }

    private func sign(
        _ copy: inout PostbacksModel.Postback, with signer: PostbackSigner, kid: String
    ) throws {
        if copy.isOfAdAttributionKit {
            copy.seal = try signer.jws(
                header: PostbackWire.header(kid),
                payload: PostbackWire.object(PostbackWire.claims(of: copy)))
            return
        }
        var texts = [copy.version, copy.network, copy.campaign, "\(copy.app)", copy.transaction]
        texts.append(copy.conversionType == "redownload" ? "true" : "false")
        if let sourceApp = copy.sourceApp {
            texts.append("\(sourceApp)")
        } else if let domain = copy.sourceDomain, copy.version == "4.0" {
            texts.append(domain)
        }
        if let fidelity = copy.fidelity, copy.version >= "2.2" { texts.append("\(fidelity)") }
        if copy.version >= "3.0" { texts.append("\(copy.didWin)") }
        if copy.version >= "4.0" { texts.append("\(copy.index)") }
        copy.seal = try signer.signature(over: texts)
    }
}

/// Postbacks as bytes. Members are pairs of a name and JSON.
enum PostbackWire {
    typealias Members = [(name: String, json: String)]

    static let malformed = [
        "", "{", "{\"app-id\":1e999}", "{\"version\":\"\\ud800\"}",
    ]
    static let noObjects = ["[]", "7", "null"]
    static let tooDeep = String(repeating: "[", count: 65) + String(repeating: "]", count: 65)

    static func object(_ members: Members) -> String {
        "{" + members.map { "\"\($0.name)\":\($0.json)" }.joined(separator: ",") + "}"
    }

    static func header(_ kid: String) -> String { "{\"kid\":\"\(kid)\",\"alg\":\"ES256\"}" }

    static func jws(_ kid: String, _ claims: Members, _ signature: String) -> String {
        [header(kid).utf8.base64URL, object(claims).utf8.base64URL, signature].joined(
            separator: ".")
    }

    private static func text(_ text: String) -> String { "\"\(text)\"" }

    static func claims(of copy: PostbacksModel.Postback) -> Members {
        var members: Members = [
            ("postback-identifier", text(copy.transaction)),
            ("ad-network-identifier", text(copy.network)),
            ("source-identifier", text(copy.campaign)),
            ("advertised-item-identifier", "\(copy.app)"),
            ("conversion-type", text(copy.conversionType)), ("did-win", "\(copy.didWin)"),
            ("postback-sequence-index", "\(copy.index)"), ("impression-type", "\"app-impression\""),
        ]
        if let sourceApp = copy.sourceApp {
            members.append(("publisher-item-identifier", "\(sourceApp)"))
        }
        if let marketplace = copy.marketplace {
            members.append(("marketplace-identifier", text(marketplace)))
        }
        return members
    }

    static func members(
        of copy: PostbacksModel.Postback, using random: inout SeededGenerator
    ) -> Members {
        var members: Members = []
        if copy.isOfAdAttributionKit {
            members = copy.seal.map { [("jws-string", text($0))] } ?? []
            members += copy.unsigned.interaction.map { [("ad-interaction-type", text($0))] } ?? []
        } else {
            members = postback(copy, using: &random)
        }
        members +=
            copy.unsigned.fine.map {
                [("conversion-value", "\($0)" + random.pick(["", ".0", "e0"]))]
            } ?? []
        members += copy.unsigned.coarse.map { [("coarse-conversion-value", text($0))] } ?? []
        if copy.unsigned.country != "" {
            members.append(("country-code", text(copy.unsigned.country)))
        } else if random.chance(30) {
            members.append(("country-code", random.pick(["null", "\"\""])))
        }
        // Of two members of one name the first counts. What is not signed is not judged.
        if random.chance(20), let first = members.first { members.append((first.name, "[]")) }
        if random.chance(20) { members += unsignedNoise(copy) }
        return members
    }

    private static func postback(
        _ copy: PostbacksModel.Postback, using random: inout SeededGenerator
    ) -> Members {
        let digits = random.pick(["", "\""])
        var members: Members = [
            ("ad-network-id", text(copy.network)), ("transaction-id", text(copy.transaction)),
            ("app-id", digits + "\(copy.app)" + digits),
            ("redownload", "\(copy.conversionType == "redownload")"),
        ]
        if copy.version != "1.0" || random.chance(50) {
            members.append(("version", text(copy.version)))
        }
        if copy.layout < "4.0" {
            members.append(("campaign-id", digits + copy.campaign + digits))
        } else {
            members.append(("source-identifier", text(copy.campaign)))
            members.append(("postback-sequence-index", "\(copy.index)"))
            members += copy.sourceDomain.map { [("source-domain", text($0))] } ?? []
        }
        if let won = copy.won, copy.layout >= "3.0" { members.append(("did-win", "\(won)")) }
        if let fidelity = copy.fidelity, copy.layout >= "2.2" {
            members.append(("fidelity-type", "\(fidelity)"))
        }
        members += copy.sourceApp.map { [("source-app-id", digits + "\($0)" + digits)] } ?? []
        members += copy.seal.map { [("attribution-signature", text($0))] } ?? []
        return members
    }

    /// Members that the version's layout does not sign, with values that would be refused.
    private static func unsignedNoise(_ copy: PostbacksModel.Postback) -> Members {
        var members: Members = [("adjust-campaign", "{\"a\":[1]}")]
        if copy.isOfAdAttributionKit {
            return members + [
                ("postback-sequence-index", "9"), ("did-win", "0"), ("conversion-type", "[]"),
                ("marketplace-identifier", "7"),
            ]
        }
        members += [("ad-interaction-type", "7"), ("marketplace-identifier", "7")]
        if copy.layout == "4.0" { return members + [("campaign-id", "500")] }
        members += [
            ("postback-sequence-index", "3"), ("source-identifier", "12345"),
            ("source-domain", "7"),
        ]
        if copy.layout < "3.0" { members.append(("did-win", "\"no\"")) }
        if copy.layout < "2.2" { members.append(("fidelity-type", "9")) }
        if copy.layout < "2.0" { members.append(("source-app-id", "-5")) }
        return members
    }

    /// What a member may be, nil for absent, and why its record is rejected then.
    private typealias FaultyValues = [(json: String?, reason: ContractReason)]
    private typealias Faults = (name: String, values: FaultyValues)

    /// A copy with a member for which it is rejected, or two, whatever its verdict.
    static func brokenMembers(
        of copy: PostbacksModel.Postback, using random: inout SeededGenerator
    ) -> (Members, ContractReason) {
        var copy = copy
        copy.unsigned.fine = nil
        copy.unsigned.coarse = nil
        let outside: [Faults] = [
            (
                "conversion-value",
                [
                    ("64", .outOfRange), ("-1", .outOfRange), ("\"5\"", .wrongType),
                    ("5,\"coarse-conversion-value\":\"low\"", .outOfRange),
                ]
            ),
            (
                "coarse-conversion-value",
                [("\"none\"", .outOfRange), ("\"LOW\"", .outOfRange), ("1", .wrongType)]
            ),
        ]
        let missing: FaultyValues = [(nil, .missingField), ("null", .missingField)]
        let ids: FaultyValues = missing + [("\"\"", .missingField), ("7", .wrongType)]
        let apps: FaultyValues =
            missing + [
                ("\"app\"", .wrongType), ("9223372036854775808", .outOfRange), ("true", .wrongType),
                ("-1", .outOfRange), ("5.5", .outOfRange), ("\"-1\"", .wrongType),
            ]
        let tooLong: FaultyValues = [
            ("\"12345\"", .outOfRange), ("5.5", .outOfRange), ("-1", .outOfRange),
        ]
        let sources: FaultyValues =
            missing + tooLong + [("\"\"", .missingField), ("true", .wrongType)]
        let indices: FaultyValues = [
            ("3", .outOfRange), ("-1", .outOfRange), ("\"x\"", .wrongType),
        ]
        let noTexts: FaultyValues = ["7", "false", "[]", "{}"].map { ($0, .wrongType) }
        guard !copy.isOfAdAttributionKit else {
            var claims = claims(of: copy)
            let inside = random.pick([
                ("postback-identifier", ids), ("ad-network-identifier", ids),
                ("advertised-item-identifier", apps), ("source-identifier", sources),
                ("postback-sequence-index", indices), ("conversion-type", noTexts),
                ("marketplace-identifier", noTexts),
            ])
            var reasons = [replace(inside, in: &claims, using: &random)]
            copy.seal = jws("", claims, "AAAA")
            var members = members(of: copy, using: &random)
            let seals: FaultyValues = [
                (nil, .missingField), ("\"\"", .malformedJSON), ("\"a.b\"", .malformedJSON),
                ("\"e30.W10.AAAA\"", .malformedJSON), ("7", .wrongType),
            ]
            let fault = random.pick(
                outside + [("jws-string", seals), ("ad-interaction-type", noTexts)])
            if random.chance(50) {
                // Without the claims nothing of them is wrong.
                if fault.name == "jws-string" { reasons = [] }
                reasons.append(replace(fault, in: &members, using: &random))
            }
            return (members, ContractReason.first(of: reasons) ?? .overflow)
        }
        var faults = outside + [("transaction-id", ids), ("ad-network-id", ids), ("app-id", apps)]
        if copy.layout < "4.0" {
            faults.append(
                (
                    "campaign-id",
                    missing + [("0", .outOfRange), ("101", .outOfRange), ("\"x\"", .wrongType)]
                ))
        } else {
            faults.append(("postback-sequence-index", indices))
            // Nothing but the ids is required of a version that nobody knows.
            faults.append(("source-identifier", copy.version == "4.0" ? sources : tooLong))
        }
        if copy.layout >= "2.2" {
            faults.append(("fidelity-type", [("2", .outOfRange), ("-1", .outOfRange)]))
        }
        var members = members(of: copy, using: &random)
        let reason = replace(random.pick(faults), in: &members, using: &random)
        return (members, reason)
    }

    /// - Returns: why a record is rejected that has the member so.
    private static func replace(
        _ faults: Faults, in members: inout Members, using random: inout SeededGenerator
    ) -> ContractReason {
        let fault = random.pick(faults.values)
        replace(faults.name, fault.json, in: &members)
        return fault.reason
    }

    private static func replace(_ name: String, _ json: String?, in members: inout Members) {
        members.removeAll { $0.name == name }
        if let json { members.insert((name, json), at: 0) }
    }
}
