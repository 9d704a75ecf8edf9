import TestKit

/// Writes JSON as text, in all the ways in which JSON can say the same, and in some records with members for which the
/// record is rejected.
struct DraftWriter {
    struct Member {
        var name: String
        /// The value, as JSON.
        var json: String
    }

    private struct Fault {
        /// Nil for a member that is not there.
        var json: String?
        var reason: ContractReason
    }

    var random: SeededGenerator
    /// Whether members are written wrongly now and then.
    var mayBreak = false
    /// Everything for which the record as it stands is rejected; the first in the order of the contract is the reason.
    var reasons: [ContractReason] = []

    init(random: SeededGenerator) { self.random = random }

    // MARK: Choices

    mutating func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

    mutating func pick<Choice>(_ choices: [Choice]) -> Choice {
        choices[Int.random(in: choices.indices, using: &random)]
    }

    /// One of the usual, so that what hangs on several choices comes up; now and then one of the odd.
    mutating func mostly<Choice>(_ usual: [Choice], _ odd: [Choice]) -> Choice {
        pick(chance(10) ? odd : usual)
    }

    // MARK: Members that are judged

    /// An id that only names something: a required text that is not empty.
    mutating func id(_ name: String, _ value: String) -> Member? {
        member(
            name, quoted(value),
            [
                Fault(json: nil, reason: .missingField), Fault(json: "\"\"", reason: .missingField),
                Fault(json: "17", reason: .wrongType), Fault(json: "[\"a\"]", reason: .wrongType),
            ])
    }

    mutating func text(_ name: String, _ value: String) -> Member? {
        member(
            name, quoted(value),
            [Fault(json: nil, reason: .missingField), Fault(json: "4.0", reason: .wrongType)])
    }

    mutating func optionalText(_ name: String, _ value: String?) -> Member? {
        member(
            name, value.map { quoted($0) },
            [Fault(json: "4.0", reason: .wrongType), Fault(json: "{}", reason: .wrongType)])
    }

    /// A word of a closed list.
    ///
    /// - Parameter empty: why an empty word is rejected.
    mutating func word(
        _ name: String, _ value: String, empty: ContractReason = .outOfRange
    ) -> Member? {
        member(
            name, quoted(value),
            [
                Fault(json: nil, reason: .missingField), Fault(json: "true", reason: .wrongType),
                Fault(json: "\"\"", reason: empty),
                Fault(json: "\"\(value.uppercased())\"", reason: .outOfRange),
            ])
    }

    mutating func integer(_ name: String, _ value: Int64) -> Member? {
        member(
            name, number(value),
            [Fault(json: nil, reason: .missingField), Fault(json: "\"17\"", reason: .wrongType)])
    }

    mutating func optionalInteger(_ name: String, _ value: Int64?) -> Member? {
        member(
            name, value.map { number($0) },
            [Fault(json: "\"17\"", reason: .wrongType), Fault(json: "[1]", reason: .wrongType)])
    }

    /// A number or a text of digits.
    mutating func identifier(_ name: String, _ value: Int64, isRequired: Bool = false) -> Member? {
        member(
            name, identifier(value),
            [
                isRequired
                    ? Fault(json: nil, reason: .missingField)
                    : Fault(json: "false", reason: .wrongType),
                Fault(json: "\"x1\"", reason: .wrongType), Fault(json: "{}", reason: .wrongType),
                Fault(json: "\"-1\"", reason: .wrongType),
                Fault(json: "9223372036854775808", reason: .outOfRange),
                Fault(json: "\"9223372036854775808\"", reason: .outOfRange),
                Fault(json: "18446744073709551616", reason: .outOfRange),
                Fault(json: "-1", reason: .outOfRange), Fault(json: "5.5", reason: .outOfRange),
            ])
    }

    /// A required text that has to be of a form; `others` are not.
    mutating func judgedText(_ name: String, _ value: String, others: [String]) -> Member? {
        let other = quoted(pick(others))
        return member(
            name, quoted(value),
            [
                Fault(json: nil, reason: .missingField), Fault(json: "17", reason: .wrongType),
                Fault(json: "[]", reason: .wrongType), Fault(json: other, reason: .outOfRange),
            ])
    }

    /// A number as it is written, or nil for one that may be absent and is; `others` are out of its bounds.
    mutating func judgedNumber(
        _ name: String, _ value: String?, isRequired: Bool = false, others: [String]
    ) -> Member? {
        let other = pick(others)
        return member(
            name, value,
            [
                Fault(
                    json: isRequired ? nil : "[]", reason: isRequired ? .missingField : .wrongType),
                Fault(json: "\"17\"", reason: .wrongType),
                Fault(json: "true", reason: .wrongType), Fault(json: other, reason: .outOfRange),
            ])
    }

    mutating func flag(_ name: String, _ value: Bool) -> Member? {
        member(
            name, "\(value)",
            [Fault(json: nil, reason: .missingField), Fault(json: "1", reason: .wrongType)])
    }

    mutating func optionalFlag(_ name: String, _ value: Bool?) -> Member? {
        member(
            name, value.map { "\($0)" },
            [Fault(json: "\"true\"", reason: .wrongType), Fault(json: "1", reason: .wrongType)])
    }

    /// A flag that may be 1 or 0.
    mutating func optionalBit(_ name: String, _ value: Bool?) -> Member? {
        member(
            name, value.map { bit($0) },
            [
                Fault(json: "\"true\"", reason: .wrongType), Fault(json: "2", reason: .wrongType),
                Fault(json: "0.5", reason: .wrongType),
            ])
    }

    /// 1 or true is full screen; any other number is not.
    mutating func fullScreen(_ name: String, _ value: Bool?) -> Member? {
        member(
            name, value.map { bit($0) },
            [Fault(json: "\"17\"", reason: .wrongType), Fault(json: "[1]", reason: .wrongType)])
    }

    private mutating func bit(_ value: Bool) -> String {
        chance(2) ? "\(value)" : number(value ? 1 : 0)
    }

    /// A text or a number, as JSON; nil for none.
    ///
    /// - Parameter isIdentifier: whether a number has to be a whole one from 0.
    mutating func textOrNumber(
        _ name: String, _ json: String?, isIdentifier: Bool = false
    ) -> Member? {
        let numbers = isIdentifier ? ["-1", "5.5"] : []
        return member(
            name, json,
            [Fault(json: "true", reason: .wrongType), Fault(json: "[]", reason: .wrongType)]
                + numbers.map { Fault(json: $0, reason: .outOfRange) })
    }

    /// What a placement of an overlay is called: a text or a number; nil for none.
    mutating func zone(_ name: String) -> (text: String, member: Member?) {
        let text = pick(["1741", "7", "zone-é", "", "0042", "9223372036854775807"])
        let json = text.first != "0" && Int64(text) != nil && chance(2) ? text : quoted(text)
        let isThere = !chance(5)
        let zone = textOrNumber(name, isThere ? json : nil)
        return (isThere ? text : "", zone)
    }

    /// A price that was given, with what it is in micros.
    mutating func price(_ name: String, isRequired: Bool = true) -> (micros: Int64, member: Member?)
    {
        let text = pick([
            "0", "0.0", "4.35", "1.25", "0.0000005", "0.0000004999999", "0.0000015", "2.0000025",
            "1.0000005", "123456.7890125", "999999.9999995", "1000000", "1e6", "12e-1", "3E0", "7",
        ])
        let micros = ((Double(text) ?? 0) * 1_000_000).rounded(.toNearestOrAwayFromZero)
        let price = member(
            name, text,
            [
                isRequired
                    ? Fault(json: nil, reason: .missingField)
                    : Fault(json: "true", reason: .wrongType),
                Fault(json: "\"1.5\"", reason: .wrongType),
                Fault(json: "-0.0000001", reason: .outOfRange),
                Fault(json: "1000000.0000001", reason: .outOfRange),
                Fault(json: "18446744073709551616", reason: .outOfRange),
                Fault(json: "1e308", reason: .outOfRange),
            ])
        return (Int64(micros), price)
    }

    /// The price of a bid, which rejects nothing: what it is in micros, nil where it is not valid.
    mutating func priceOfBid(_ name: String) -> (micros: Int64?, member: Member?) {
        guard chance(8) else {
            let mayBreak = mayBreak
            self.mayBreak = false
            defer { self.mayBreak = mayBreak }
            return price(name)
        }
        let json = pick([
            nil, "\"1.5\"", "\"MC43MDAwMDE=\"", "true", "{}", "[1]", "-1", "-0.0000001",
            "1000000.0000001", "18446744073709551616", "1e308",
        ])
        return (nil, unjudged(name, json))
    }

    /// The campaign key as an object. It and each of its members are optional.
    mutating func campaign() -> (key: ModelCampaign, member: Member?) {
        guard !chance(5) else { return (ModelCampaign(), absent("campaign")) }
        var key = ModelCampaign()
        let member = object("campaign") { writer in
            let network = writer.chance(6) ? nil : writer.pick(DraftWriter.networks)
            key.network = network ?? ""
            var members = [writer.optionalText("ad_network_id", network)]
            let campaign = Int64.random(in: 1...12, using: &writer.random)
            switch Int.random(in: 0..<5, using: &writer.random) {
            case 0, 1:
                key.campaign = writer.pick(["5239", "0039", "39", "\(campaign)", "crème-7"])
                members.append(
                    writer.textOrNumber(
                        "source_identifier", writer.quoted(key.campaign), isIdentifier: true))
                // The source identifier goes before the campaign id.
                if writer.chance(3) { members.append(writer.unjudged("campaign_id", "45")) }
            case 2:
                // An empty id is a missing one.
                key.campaign = "\(campaign)"
                members.append(
                    Member(name: "source_identifier", json: writer.pick(["\"\"", "null"])))
                members.append(writer.identifier("campaign_id", campaign))
            case 3:
                key.campaign = "\(campaign)"
                members.append(
                    Member(name: "source_identifier", json: writer.number(campaign)))
            default: break
            }
            if !writer.chance(5) {
                key.app = writer.pick(DraftWriter.apps)
                members.append(writer.identifier("app_id", key.app))
            }
            if !writer.chance(5) {
                key.sourceApp = writer.pick(DraftWriter.apps)
                members.append(writer.identifier("source_app_id", key.sourceApp))
            }
            return members
        }
        return (key, member)
    }

    static let networks = [
        "example123.skadnetwork", "EXAMPLE123.SKAdNetwork", "réseau.skadnetwork",
        "RÉSEAU.skadnetwork", "re\u{301}seau.skadnetwork",
    ]
    static let apps: [Int64] = [1, 525_463_029, 880_047_117, .max]

    /// An object of optional members, or of ones whose lack `members` writes.
    mutating func object(
        _ name: String, _ members: (inout DraftWriter) -> [Member?]
    ) -> Member? {
        let faults = ["\"x\"", "[]", "5"].map { Fault(json: $0, reason: .wrongType) }
        // Of an object that is another type nothing else can be wrong.
        if chance(4), let broken = fault(faults) {
            return Member(name: name, json: broken.json ?? "null")
        }
        return Member(name: name, json: objectText(members(&self)))
    }

    /// An object with required members. Another type is not written: whether it lacks them too is not said.
    mutating func requiredObject(
        _ name: String, _ members: (inout DraftWriter) -> [Member?]
    ) -> Member? {
        if fault([Fault(json: nil, reason: .missingField)]) != nil { return absent(name) }
        return Member(name: name, json: objectText(members(&self)))
    }

    // MARK: Members that are not

    mutating func unjudged(_ name: String, _ json: String?) -> Member? {
        json.map { Member(name: name, json: $0) } ?? absent(name)
    }

    private mutating func absent(_ name: String) -> Member? {
        chance(2) ? nil : Member(name: name, json: "null")
    }

    private mutating func member(_ name: String, _ json: String?, _ faults: [Fault]) -> Member? {
        unjudged(name, fault(faults).map(\.json) ?? json)
    }

    private mutating func fault(_ faults: [Fault]) -> Fault? {
        guard mayBreak, chance(12) else { return nil }
        // A reason first, or the one with the fewest ways to be written would be rare.
        let reason = pick(
            ContractReason.allCases.filter { reason in faults.contains { $0.reason == reason } })
        let fault = pick(faults.filter { $0.reason == reason })
        reasons.append(fault.reason)
        return fault
    }

    // MARK: Text

    /// An integer may be written with a fraction or an exponent.
    mutating func number(_ value: Int64) -> String {
        // Beyond 53 bits a double is another number.
        guard value.magnitude < 1 << 53, chance(3) else { return "\(value)" }
        return "\(value)" + pick([".0", "e0", "E+0", ".000"])
    }

    mutating func identifier(_ value: Int64) -> String {
        value >= 0 && chance(2) ? quoted("\(value)") : number(value)
    }

    /// A string, with characters escaped that need it, and some that do not.
    mutating func quoted(_ text: String) -> String {
        let escapes = chance(6)
        var json = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" {
                json += "\\\(scalar)"
            } else if scalar.value < 0x20 || (escapes && chance(3)) {
                for unit in UTF16.encode(scalar).map({ Array($0) }) ?? [] {
                    let digits = String(unit, radix: 16, uppercase: chance(2))
                    json += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            } else {
                json.unicodeScalars.append(scalar)
            }
        }
        return json + "\""
    }

    mutating func list(_ items: [String]) -> String {
        "[" + items.joined(separator: pick([",", ", "])) + "]"
    }

    /// Members in any order, with others between them that mean nothing.
    mutating func objectText(_ members: [Member?]) -> String {
        var written = members.compactMap { $0 }
        if chance(4) {
            written.append(
                Member(name: pick(["ext2", "note", "ID", ""]), json: pick(Self.anything)))
        }
        written.shuffle(using: &random)
        // Of members with one name the first counts.
        if let first = written.randomElement(using: &random), chance(6) {
            written.append(Member(name: first.name, json: pick(Self.anything)))
        }
        let blank = pick(["", "", "", " ", "\n\t"])
        let texts = written.map { "\(blank)\(quoted($0.name))\(blank):\($0.json)" }
        return "{" + texts.joined(separator: ",") + blank + "}"
    }

    /// JSON that is well-formed, whatever it says.
    private static let anything = [
        "null", "true", "17", "-0.5e-7", "18446744073709551615", "18446744073709551616", "\"\"",
        "-9223372036854775809", "123456789012345678901234567890", "1e308", "[]", "{}", "\"5\"",
        "{\"id\":[{\"id\":null}, -1]}", "\"\\ud83d\\ude00\\u0000\\n\"", "\"\u{7F}é\u{2028}\"",
    ]

    /// The document of a record: 64 levels at most.
    mutating func document(_ members: [Member?]) -> String {
        var members = members
        if chance(30) {
            members.append(
                Member(name: "deep", json: Self.nested(63)))
        }
        return objectText(members)
    }

    private static func nested(_ levels: Int) -> String {
        String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    }

    // MARK: Damage

    /// The bytes of a document; of some records, bytes that are none. Nil for a tombstone.
    mutating func damagedNowAndThen(_ json: String) -> [UInt8]? {
        if chance(2_000) {
            reasons.append(.tooLarge)
            return Array(json.utf8) + Array(repeating: 0x20, count: 1_048_577 - json.utf8.count)
        }
        guard chance(12) else { return Array(json.utf8) }
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            reasons.append(.tombstone)
            return nil
        case 1:
            reasons.append(.invalidUTF8)
            var bytes = Array(json.utf8)
            let noCharacter: [UInt8] = pick([
                [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80],
            ])
            bytes.insert(
                contentsOf: noCharacter, at: Int.random(in: 0...bytes.count, using: &random))
            return bytes
        case 2:
            reasons.append(.tooDeep)
            let open = "{\"deep\":"
            return Array(
                pick([
                    open + Self.nested(64) + "," + json.dropFirst(), open + Self.nested(200) + "}",
                    // What comes after the place where it is too deep does not count.
                    open + String(repeating: "[", count: 64), open + Self.nested(64) + ",}",
                ]).utf8)
        case 3:
            // Whatever the document lacked or had wrong, this is none.
            reasons = [.wrongType]
            return Array(pick(["[]", "null", "17", "\"text\"", "true", "[{}]"]).utf8)
        default:
            reasons.append(.malformedJSON)
            return Array(malformed(json).utf8)
        }
    }

    private mutating func malformed(_ json: String) -> String {
        let bad = pick([
            "01", "1.", ".5", "+1", "-", "0x10", "NaN", "Infinity", "tru", "'a'", "1e400", "-1e400",
            "\"\\ud800\"", "\"\\udc00\\ud800\"", "\"\\ud800x\"", "\"\\q\"", "\"\\u00g0\"",
            "\"\u{1}\"",
            "", "1 2", "[1,]", "{\"a\"}", "{1:2}", "[1}", "tru\(Self.nested(70))",
        ])
        return pick([
            "{\"bad\":\(bad),\(json.dropFirst())", "{\"bad\":\(bad)}", "{\"bad\":\(bad)}",
            "{\(bad.isEmpty ? "a" : bad):1}", String(json.dropLast()), json + "x", json + json,
            json + "\u{0}", "", " ", "\"" + json, "{,}",
        ])
    }
}
