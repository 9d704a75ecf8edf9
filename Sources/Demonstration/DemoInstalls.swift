import Streams

/// What a person does after an install: purchases in the order of time.
struct DemoPerson {
    struct Purchase {
        /// Milliseconds after the install.
        var after: Int64
        /// Thousandths of the unit of a currency.
        var price: Int64
        var isAnnual = false
    }

    var purchases: [Purchase] = []
    /// Milliseconds from the install to the start of a trial.
    var trialAfter: Int64?
    /// Whether the app is opened in the first, second and third window.
    var opens = [true, false, false]

    /// Thousandths of the unit spent from one instant after the install to another.
    func spent(_ interval: Range<Int64>) -> Int64 {
        purchases.filter { interval.contains($0.after) }.reduce(0) { $0 + $1.price }
    }
}

extension DemoMarket {
    /// The windows of SKAdNetwork 4.0 after an install.
    private static let windows = [
        0..<2 * DemoTime.day, 2 * DemoTime.day..<7 * DemoTime.day,
        7 * DemoTime.day..<35 * DemoTime.day,
    ]

    func person(
        isForGame: Bool, campaign: DemoCampaign?, _ random: inout SeededGenerator
    ) -> DemoPerson {
        var person = DemoPerson()
        person.opens[1] = random.happens(assumptions.secondWindowShare)
        person.opens[2] = random.happens(assumptions.thirdWindowShare)
        if isForGame {
            let share = campaign.map(assumptions.payerShare) ?? assumptions.organicPayerShare
            guard random.happens(share) else { return person }
            var after = Int64(random.unit() * random.unit() * 9 * Double(DemoTime.day)) + 600_000
            repeat {
                let price = random.pick(
                    assumptions.prices.map { ($0.milliunits, weight: $0.weight) })
                person.purchases.append(.init(after: after, price: price))
                after += Int64(random.between(0.1, 6) * Double(DemoTime.day))
            } while random.happens(assumptions.repeatedPurchaseShare) && person.purchases.count < 12
        } else {
            let share = campaign.map(assumptions.trialShare) ?? assumptions.organicTrialShare
            guard random.happens(share) else { return person }
            let trial = Int64(300_000 + random.below(40_000_000))
            person.trialAfter = trial
            guard random.happens(assumptions.trialConversion) else { return person }
            let isAnnual = random.happens(assumptions.annualShare)
            let price = isAnnual ? assumptions.annualPrice : assumptions.monthlyPrice
            var after = trial + Int64(assumptions.trialDays) * DemoTime.day
            repeat {
                person.purchases.append(.init(after: after, price: price, isAnnual: isAnnual))
                after += (isAnnual ? 365 : 30) * DemoTime.day
            } while after < 120 * DemoTime.day && random.happens(assumptions.renewalShare)
        }
        if !person.purchases.isEmpty { person.opens = [true, true, person.opens[2]] }
        return person
    }

    /// An install by a campaign, or a return to the app: its purchases and its postbacks.
    mutating func addInstall(
        of campaign: DemoCampaign, at instant: Int64, sourceApp: Int64?,
        _ random: inout SeededGenerator
    ) throws {
        let person = person(isForGame: campaign.isForGame, campaign: campaign, &random)
        try addSales(
            of: person, isForGame: campaign.isForGame, country: campaign.country, at: instant,
            &random)
        let network = assumptions.networks[campaign.network]
        var postback = DemoPostback(
            version: campaign.goal == .reEngagement
                ? "" : random.pick(network.versions.map { ($0.version, weight: $0.weight) }),
            network: network.id, app: assumptions.app(of: campaign).id, campaign: campaign)
        postback.conversionType =
            campaign.goal == .reEngagement
            ? "re-engagement"
            : random.happens(assumptions.redownloadShare) ? "redownload" : "download"
        let crowd = random.unit()
        let hasValue = crowd >= campaign.nullRate
        let isFine = crowd >= campaign.nullRate + assumptions.coarseShare
        let isLarge = crowd >= 0.5 + campaign.nullRate / 2
        // Ads outside the exchange run in many apps.
        let publisher = sourceApp ?? 6_450_000_000 + Int64(campaign.network * 100 + random.below(6))
        guard postback.version == "4.0" || postback.version == "" else {
            // The value of these versions can rise until it stays the same for a day. Payers open the app daily.
            let last = person.purchases.last { $0.after < 5 * DemoTime.day }?.after ?? 0
            postback.sourceApp = hasValue ? publisher : nil
            postback.fine = hasValue ? value(of: person, campaign, until: last + 1) : nil
            let delay = 24 * DemoTime.hour + Int64(random.below(86_400_000))
            try send(postback, at: instant + last + delay, network, &random)
            return
        }
        for (index, window) in Self.windows.enumerated() {
            guard index == 0 || hasValue else { break }
            var postback = postback
            postback.index = index
            postback.source =
                index == 0 && isFine ? campaign.source : String(campaign.source.suffix(2))
            if index == 0 && isLarge {
                postback.sourceApp = publisher
                postback.country = campaign.country
            }
            if hasValue && person.opens[index] {
                if index == 0 && isFine {
                    postback.fine = value(of: person, campaign, until: window.upperBound)
                } else {
                    postback.coarse = coarseValue(of: person, campaign, index, window)
                }
            }
            let spread = index == 0 ? 86_400_000 : 432_000_000
            let delay = 24 * DemoTime.hour + Int64(random.below(spread))
            try send(postback, at: instant + window.upperBound + delay, network, &random)
        }
    }

    /// What the app sets in the first window, by the models of `DemoConfiguration`.
    private func value(of person: DemoPerson, _ campaign: DemoCampaign, until end: Int64) -> Int {
        if campaign.isForGame {
            let spent = person.spent(0..<end)
            let bucket = DemoModel.gameBuckets.lastIndex { $0 <= spent } ?? 0
            return bucket | (person.opens[1] ? 1 << 4 : 0) | (person.purchases.isEmpty ? 0 : 1 << 5)
        }
        let plan = person.purchases.first { $0.after < end }.map { $0.isAnnual ? 3 : 2 }
        return (plan ?? (person.trialAfter == nil ? 0 : 1)) | (person.opens[1] ? 3 << 2 : 1 << 2)
    }

    private func coarseValue(
        of person: DemoPerson, _ campaign: DemoCampaign, _ index: Int, _ window: Range<Int64>
    ) -> String {
        if campaign.isForGame {
            let spent = person.spent(window)
            return spent == 0 ? "low" : spent <= DemoModel.gameMediumTop ? "medium" : "high"
        }
        let plan = person.purchases.first { window.contains($0.after) }
        if index == 0 { return plan != nil ? "high" : person.trialAfter == nil ? "low" : "medium" }
        return plan.map { $0.isAnnual ? "high" : "medium" } ?? "low"
    }

    private mutating func send(
        _ postback: DemoPostback, at instant: Int64, _ network: DemoNetwork,
        _ random: inout SeededGenerator
    ) throws {
        let late = Int64(random.unit() * network.lateDays * Double(DemoTime.day))
        let id = random.uuid()
        let value = try postback.value(id: id, keys: demo.keys, isRelayed: network.isRelay)
        let at = instant + late
        calendar.add(
            "postbacks", postback.type, at: at, id: id, source: "/devices", key: id,
            via: network.isRelay ? "relay" : nil, value)
        if random.happens(assumptions.developerCopyShare) {
            calendar.add(
                "postbacks", postback.type, at: at + 900, id: "\(id)/copy", source: "/devices",
                key: id,
                via: "developer-copy", value)
        }
    }
}

/// A postback as its fields are before it is signed.
struct DemoPostback {
    /// Empty for AdAttributionKit.
    var version: String
    var network: String
    var app: Int64
    var campaign: DemoCampaign
    var source = ""
    var conversionType = "download"
    var sourceApp: Int64?
    var country: String?
    var index = 0
    var fine: Int?
    var coarse: String?

    init(version: String, network: String, app: Int64, campaign: DemoCampaign) {
        self.version = version
        self.network = network
        self.app = app
        self.campaign = campaign
    }

    var type: String { version == "" ? "adattributionkit.postback" : "skadnetwork.postback" }

    private var unsigned: String {
        (fine.map { ",\"conversion-value\":\($0)" } ?? "")
            + (coarse.map { ",\"coarse-conversion-value\":\"\($0)\"" } ?? "")
            + (country.map { ",\"country-code\":\"\($0)\"" } ?? "")
    }

    /// - Parameter isRelayed: a relay writes 0 where Apple wrote no source app.
    func value(id: String, keys: DemoKeys, isRelayed: Bool) throws -> String {
        if version == "" {
            let claims = """
                {"postback-identifier":"\(id)","ad-network-identifier":"\(network)","source-identifier":"\(source)",\
                "advertised-item-identifier":\(app)\(sourceApp.map { ",\"publisher-item-identifier\":\($0)" } ?? ""),\
                "marketplace-identifier":"com.apple.AppStore","impression-type":"app-impression",\
                "conversion-type":"\(conversionType)","postback-sequence-index":\(index),"did-win":true}
                """
            return
                "{\"jws-string\":\"\(try keys.attributionJWS(claims))\",\"ad-interaction-type\":\"click\"\(unsigned)}"
        }
        let redownload = conversionType == "redownload"
        var fields = [
            version, network, version == "4.0" ? source : "\(campaign.id)", "\(app)", id,
            "\(redownload)",
        ]
        if let sourceApp { fields.append("\(sourceApp)") }
        fields.append("1")
        if version >= "3.0" { fields.append("true") }
        if version == "4.0" { fields.append("\(index)") }
        let signature = try DemoKeys.signature(keys.attribution, over: fields)
        let name =
            version == "4.0"
            ? "\"source-identifier\":\"\(source)\",\"postback-sequence-index\":\(index)"
            : "\"campaign-id\":\(campaign.id)"
        let publisher = sourceApp ?? (isRelayed ? 0 : nil)
        return """
            {"version":"\(version)","ad-network-id":"\(network)",\(name),"transaction-id":"\(id)","app-id":\(app),\
            "redownload":\(redownload),"fidelity-type":1\(version >= "3.0" ? ",\"did-win\":true" : "")\
            \(publisher.map { ",\"source-app-id\":\($0)" } ?? "")\(unsigned),"attribution-signature":"\(signature)"}
            """
    }
}
