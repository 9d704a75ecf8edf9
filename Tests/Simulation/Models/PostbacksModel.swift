import EventLog
import Foundation
import TestKit

/// Section 6 of the contract, and of section 8a what follows, under a model of one app.
struct PostbacksModel: StreamModel {
    static let stream = "postbacks"
    static let dumps = [
        "outcomes", "postbacks", "conversion-values", "decoded-events", "install-cohorts",
    ]

    /// What a record says; its postback is nil when it is rejected.
    struct Meaning {
        var type: String
        var postback: Postback?
        /// Why it is rejected.
        var reason = ContractReason.malformedJSON
        /// The members of the record, of which the first of a name counts, and those that a relay has filled in.
        var members: PostbackWire.Members = []
        var filled: [String] = []
    }

    struct DecodedEvent {
        var name: String
        var counts: ClosedRange<Int64>
        /// Millionths.
        var revenue: ClosedRange<Int64>
    }

    /// A copy of a postback, with the verdict that its signature deserves.
    struct Postback {
        /// Empty for AdAttributionKit.
        var version: String
        var network: String
        var transaction: String
        var campaign: String
        var app: Int64
        var sourceApp: Int64?
        var sourceDomain: String?
        var fidelity: Int? = 1
        /// The word of AdAttributionKit, or what SKAdNetwork says with `redownload`.
        var conversionType = "download"
        /// Of AdAttributionKit; nil when absent.
        var marketplace: String?
        /// Nil when the copy does not say it.
        var won: Bool? = true
        var index = 0
        var verdict = "valid"
        /// The signature, or the JWS; nil for none.
        var seal: String?
        var unsigned = Unsigned()

        var isOfAdAttributionKit: Bool { version.isEmpty }
        var framework: String { isOfAdAttributionKit ? "adattributionkit" : "skadnetwork" }
        /// Decides which members are signed: another version than those known goes by that of 4.0.
        var layout: String {
            ["1.0", "2.0", "2.1", "2.2", "3.0"].contains(version) ? version : "4.0"
        }
        var rank: Int { ["valid": 2, "development": 1][verdict] ?? 0 }
        var id: [String] {
            [framework, network.lowercased(), transaction.lowercased(), "\(signedIndex)"]
        }
        var signedIndex: Int { layout < "4.0" ? 0 : index }
        var didWin: Bool { layout < "3.0" || won == true }

        /// The columns of `postbacks` after the hour.
        var columns: [String] {
            let domain = layout < "4.0" || sourceApp != nil ? nil : sourceDomain
            var interaction = fidelity.map { $0 == 1 ? "click" : "view" } ?? ""
            if layout < "2.2" { interaction = "" }
            if isOfAdAttributionKit {
                interaction =
                    unsigned.interaction.map { Self.listed($0, of: Self.interactions) } ?? ""
            }
            return [
                framework, version, network.lowercased(), campaign, "\(app)",
                "\(layout < "2.0" ? 0 : sourceApp ?? 0)", domain ?? "", "\(signedIndex)",
                interaction, Self.listed(conversionType, of: Self.conversionTypes),
                marketplace ?? "", "\(didWin)", verdict, unsigned.country,
            ]
        }

        private static let interactions = ["view", "click"]
        private static let conversionTypes = ["download", "redownload", "re-engagement"]

        /// Apple adds words: what is none of the known ones is counted as one.
        private static func listed(_ word: String, of words: [String]) -> String {
            words.contains(word) ? word : "other"
        }

        /// A change of what is signed, without a key.
        mutating func forge() {
            if verdict != "unverifiable" { verdict = "invalid" }
        }
    }

    /// What no signature protects, and what makes a copy of an equal verdict a conflict.
    struct Unsigned: Equatable {
        var fine: Int?
        var coarse: String?
        /// Empty when absent: an empty one names no country.
        var country = ""
        /// `ad-interaction-type`, which SKAdNetwork does not have.
        var interaction: String?
    }

    // No model of an app that comes with a simulation has revenue that a few thousand postbacks could add up to so much.
    static let unreachedReasons: Set<ContractReason> = [.overflow]

    static func rows(of records: [LoggedMeaning<Meaning>]) -> ModelRows {
        var rows = ModelRows()
        var accepted: [PartnerDocumentsModel.Accepted] = []
        var best: [[String]: Postback] = [:]
        for record in records {
            let hour = hourText(record.timestampMilliseconds)
            var outcome = "rejected"
            if record.meaning.postback == nil {
                rows.refuse(record, record.meaning.reason.rawValue)
            }
            if let copy = record.meaning.postback {
                let id = ["\(record.partition)"] + copy.id
                outcome = judge(copy, after: best[id])
                if outcome == "conflicts" { rows.refuse(record, "conflict") }
                if outcome == "accepted" {
                    best[id] = copy
                    add(copy, hour, to: &rows)
                    let received = max(record.timestampMilliseconds, 0)
                    let isModelled = copy.app == modelledApp && received - day >= 0
                    let event = isModelled ? decode(copy) : nil
                    accepted.append(
                        .init(record: record, copy: copy, event: event, isModelled: isModelled))
                    // Development is not trusted here.
                    if copy.verdict == "valid", copy.didWin {
                        addTrusted(copy, event, isModelled, hour, received, to: &rows)
                    }
                }
            }
            rows.add("outcomes", [hour, stream, record.meaning.type], [outcome: 1])
        }
        rows.documents = { [accepted] in PartnerDocumentsModel(accepted) }
        return rows
    }

    /// - Parameter best: the accepted copy that ranks highest.
    private static func judge(_ copy: Postback, after best: Postback?) -> String {
        guard let best, copy.rank <= best.rank else { return "accepted" }
        return copy.unsigned != best.unsigned && copy.rank == best.rank ? "conflicts" : "duplicates"
    }

    private static func add(_ copy: Postback, _ hour: String, to rows: inout ModelRows) {
        let values = copy.unsigned
        let isNull = copy.didWin && values.fine == nil && values.coarse == nil
        rows.add(
            "postbacks", [hour] + copy.columns, ["postbacks": 1, "null_values": isNull ? 1 : 0])
        if let fine = values.fine {
            rows.add(
                "conversion-values", [hour] + copy.columns + ["fine", "\(fine)"], ["postbacks": 1])
        }
        if let coarse = values.coarse {
            rows.add(
                "conversion-values", [hour] + copy.columns + ["coarse", coarse], ["postbacks": 1])
        }
    }

    /// The app that has a model: one version, in effect since 1970.
    private static let modelledApp: Int64 = 5_000_000_000
    private static let day: Int64 = 86_400_000
    /// By fine value, or by window and coarse value.
    private static let meanings: [String: DecodedEvent] = [
        "12": DecodedEvent(name: "sale", counts: 1...1, revenue: 1_500_000...2_000_000),
        "63": DecodedEvent(name: "sale", counts: 2...5, revenue: 10_000_000...99_990_000),
        "0 low": DecodedEvent(name: "open", counts: 1...1, revenue: 0...0),
        "0 high": DecodedEvent(name: "sale", counts: 1...9, revenue: 990_000...50_000_000),
        "1 medium": DecodedEvent(name: "sale", counts: 1...1, revenue: 3_000_000...3_000_000),
        "2 high": DecodedEvent(name: "rest", counts: 1...2, revenue: 0...1),
    ]

    private static func decode(_ copy: Postback) -> DecodedEvent? {
        let values = copy.unsigned
        if let fine = values.fine { return meanings["\(fine)"] }
        return values.coarse.flatMap { meanings["\(copy.signedIndex) \($0)"] }
    }

    /// - Parameter received: milliseconds since 1970.
    private static func addTrusted(
        _ copy: Postback, _ event: DecodedEvent?, _ isModelled: Bool, _ hour: String,
        _ received: Int64, to rows: inout ModelRows
    ) {
        let campaign = [
            copy.network.lowercased(), copy.campaign, "\(copy.app)",
            "\(copy.layout < "2.0" ? 0 : copy.sourceApp ?? 0)",
        ]
        let values = copy.unsigned
        let revenue = event?.revenue ?? 0...0
        if let event {
            rows.add(
                "decoded-events",
                [hour] + campaign + ["\(copy.signedIndex)", "only", event.name, "EUR"],
                [
                    "count_min": event.counts.lowerBound, "count_max": event.counts.upperBound,
                    "revenue_min_micros": revenue.lowerBound,
                    "revenue_max_micros": revenue.upperBound,
                ])
        }
        let delayHours: Int64 = copy.layout < "4.0" ? 36 : [84, 252, 924][copy.signedIndex]
        let cohort =
            copy.conversionType == "re-engagement"
            ? "" : dayText(received - delayHours * 3_600_000)
        let isInstall = copy.signedIndex == 0 && copy.conversionType == "download"
        rows.add(
            "install-cohorts",
            [cohort, "\(copy.signedIndex)"] + campaign + [isModelled ? "EUR" : ""],
            [
                "installs": isInstall ? 1 : 0, "postbacks": 1,
                "null_values": values.fine == nil && values.coarse == nil ? 1 : 0,
                "revenue_min_micros": revenue.lowerBound,
                "revenue_max_micros": revenue.upperBound,
            ])
    }

    // MARK: Records

    /// How many records were made.
    private var count = 0
    /// Copies that were sent, to be sent again.
    private var sent: [Postback] = []

    mutating func makeRecord(using random: inout SeededGenerator) -> ModelRecord<Meaning> {
        count += 1
        // A few postbacks at a time, and forged copies more often, so that better ones follow.
        let groups = PostbackPool.shared.groups
        let group = groups[(count / 20 + random.below(4)) % groups.count]
        var copy = group[max(random.below(group.count), random.below(group.count))]
        let roll = random.below(100)
        if roll < 15 { return Self.brokenRecord(copy, using: &random) }
        if roll < 45, !sent.isEmpty {
            copy = sent[random.below(sent.count)]
        } else if roll < 65 {
            copy.transaction = "00000000-0000-4000-8000-f\(count)"
            if copy.isOfAdAttributionKit {
                let kid = random.pick(["simulation/0", "simulation/1", "nobodys"])
                copy.verdict = kid == "nobodys" ? "unverifiable" : "invalid"
                copy.seal = PostbackWire.jws(
                    kid, PostbackWire.claims(of: copy), String(repeating: "A", count: 86))
            } else {
                copy.forge()
            }
        }
        if random.chance(40) {
            copy.unsigned = Self.unsigned(of: copy, using: &random)
        } else if copy.isOfAdAttributionKit, random.chance(15) {
            // Copies that differ in a word that no version of Apple's has.
            copy.unsigned.interaction = random.pick(["hover", "Click"])
        }
        if sent.count == 50 { sent.removeFirst() }
        sent.append(copy)
        // Not remembered: a second change, or a relay, could make the copy genuine again.
        let via = random.pick([nil, "device", "developer-copy", "relay"])
        let filled = Self.change(&copy, via: via, using: &random)
        let members = PostbackWire.members(of: copy, using: &random) + filled.map { ($0, "0") }
        return Self.record(
            copy, PostbackWire.object(members), via: via,
            Meaning(type: "", postback: copy, members: members, filled: filled), using: &random)
    }

    /// Changes what is signed, sometimes.
    ///
    /// - Returns: members that a relay filled in with zeros, and without which the copy verifies.
    private static func change(
        _ copy: inout Postback, via: String?, using random: inout SeededGenerator
    ) -> [String] {
        guard !copy.isOfAdAttributionKit else { return [] }
        switch random.below(10) {
        case 0:
            copy.conversionType = copy.conversionType == "download" ? "redownload" : "download"
            if copy.layout >= "2.0" { copy.forge() }
        case 1:
            copy.seal = nil
            copy.forge()
        case 2 where copy.layout >= "3.0":
            copy.won = nil
            copy.forge()
        case 3 where copy.layout == "4.0":
            // The signed bytes stay the same, and still do not verify.
            guard let sourceApp = copy.sourceApp, sourceApp > 0 else { break }
            copy.sourceDomain = "\(sourceApp)"
            copy.sourceApp = nil
            copy.forge()
        default: break
        }
        var filled: [String] = []
        // Only the copy that was signed without a fidelity has none: nothing but a relay saves it.
        if copy.fidelity == nil {
            if via == "relay" && copy.rank > 0 {
                filled.append("fidelity-type")
            } else {
                copy.fidelity = random.pick([nil, 0])
                copy.forge()
            }
        }
        if copy.layout >= "2.0", copy.sourceApp == nil, random.chance(15) {
            if via == "relay" && copy.rank > 0 {
                filled.append("source-app-id")
            } else {
                copy.sourceApp = 0
                copy.forge()
            }
        }
        return filled
    }

    /// Few values, so that copies often agree.
    private static func unsigned(of copy: Postback, using random: inout SeededGenerator) -> Unsigned
    {
        var values = Unsigned()
        switch random.below(3) {
        case 0: values.fine = random.pick([0, 12, 63])
        case 1: values.coarse = random.pick(["low", "medium", "high"])
        default: break
        }
        values.country = random.pick(["", "", "DE", "FR"])
        if copy.isOfAdAttributionKit {
            values.interaction = random.pick([nil, "view", "click", "hover", "Click", ""])
        }
        return values
    }

    private static func brokenRecord(
        _ copy: Postback, using random: inout SeededGenerator
    ) -> ModelRecord<Meaning> {
        let rejected = Meaning(type: "", postback: nil)
        let good = PostbackWire.object(PostbackWire.members(of: copy, using: &random))
        var record = record(copy, good, via: nil, rejected, using: &random)
        switch random.below(8) {
        case 0:
            record.value = nil
            record.meaning.reason = .tombstone
        case 1:
            let (body, reason): (String, ContractReason) = random.pick([
                (random.pick(PostbackWire.malformed), .malformedJSON),
                (random.pick(PostbackWire.noObjects), .wrongType), (PostbackWire.tooDeep, .tooDeep),
            ])
            record.value = Array(body.utf8)
            record.meaning.reason = reason
        case 2:
            let isLarge = random.chance(5)
            record.value =
                isLarge ? Array(repeating: 0x20, count: 1 << 20 | 1) : [0x22, 0xFF, 0x22]
            record.meaning.reason = isLarge ? .tooLarge : .invalidUTF8
        case 3:
            // A known type in structured mode is unknown too.
            record.headers =
                random.chance(50)
                ? [.init("ce_type", random.pick(["skadnetwork.install", "bids", ""]))]
                : record.headers + [.init("content-type", "application/cloudevents+json")]
            record.meaning.type = "unknown"
            record.meaning.reason = .unknownType
        case 4:
            record.headers.append(.init("ce_via", "pigeon"))
            record.meaning.reason = .outOfRange
        default:
            let (members, reason) = PostbackWire.brokenMembers(of: copy, using: &random)
            record.meaning.reason = reason
            record.value = Array(PostbackWire.object(members).utf8)
        }
        return record
    }

    private static func record(
        _ copy: Postback, _ body: String, via: String?, _ meaning: Meaning,
        using random: inout SeededGenerator
    ) -> ModelRecord<Meaning> {
        var meaning = meaning
        meaning.type = "\(copy.framework).postback"
        var headers: [OutgoingRecord.Header] = via.map { [.init("ce_via", $0)] } ?? []
        if copy.isOfAdAttributionKit || random.chance(50) {
            headers.append(.init("ce_type", meaning.type))
        }
        return ModelRecord(
            key: Array(copy.transaction.lowercased().utf8), headers: headers,
            value: Array(body.utf8),
            meaning: meaning)
    }

    /// Has the program trust the keys of the pool.
    static func writeConfiguration(to directory: String) throws {
        let pool = PostbackPool.shared
        let text = """
            topic: postbacks
            trusted_keys:
              production: [\(pool.production.publicKey)]
              development: [\(pool.development.publicKey)]
              adattributionkit:
                - {kid: simulation/0, key: \(pool.production.publicKey), verdict: valid}
                - {kid: simulation/1, key: \(pool.development.publicKey), verdict: development}

            """
        try text.write(toFile: "\(directory)/postbacks.yaml", atomically: true, encoding: .utf8)
        try FileManager.default.createDirectory(
            atPath: "\(directory)/conversion-models", withIntermediateDirectories: true)
        let model = """
            app: \(modelledApp)
            versions:
              - id: only
                effective_from: 1970-01-01T00:00:00Z
                currency: EUR
                fine:
                  fields:
                    - kind: table
                      bits: [0, 5]
                      values:
                        "12": [{event: sale, revenue_min: 1.5, revenue_max: 2}]
                        "63": [{event: sale, count_min: 2, count_max: 5, revenue_min: 10, revenue_max: 99.99}]
                coarse:
                  "0":
                    low: [{event: open}]
                    high: [{event: sale, count_max: 9, revenue_min: 0.99, revenue_max: 50}]
                  "1":
                    medium: [{event: sale, revenue_min: 3}]
                  "2":
                    high: [{event: rest, count_max: 2, revenue_max: 0.000001}]

            """
        try model.write(
            toFile: "\(directory)/conversion-models/\(modelledApp).yaml", atomically: true,
            encoding: .utf8)
    }
}
