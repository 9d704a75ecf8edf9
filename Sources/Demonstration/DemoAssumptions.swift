/// The assumptions of the demo about its market: apps, networks, campaigns and how people behave. The numbers are of the
/// size that buyers of app advertising report; names and ids are invented.
///
/// Amounts are in units of the currency that is named; rates are from 0 to 1.
package struct DemoAssumptions: Sendable {
    /// Where the exchange sells its ads: the app of the publisher.
    package var publisher = DemoApp(
        id: 6_446_100_417, name: "Driftwood Weather", bundleID: "com.example.driftwood")
    /// The advertised game, which lives from purchases.
    package var game = DemoApp(
        id: 6_448_231_907, name: "Harbor Kings", bundleID: "com.example.harborkings")
    /// The advertised app that sells subscriptions.
    package var subscription = DemoApp(
        id: 6_449_017_752, name: "Daybreak Yoga", bundleID: "com.example.daybreak")
    package var networks = DemoNetwork.all
    package var campaigns = DemoCampaign.all

    // MARK: The exchange

    /// How many auctions there are for one ad that is bought.
    package var auctionsPerWin = 1.25
    /// The share of ads won that the exchange bills.
    package var billedShare = 0.98
    /// The share of billed ads whose overlay appears, and of those the share that people close.
    package var presentedShare = 0.97
    package var dismissedShare = 0.3
    /// Units of USD for a thousand ads below which the publisher sells nothing.
    package var floorPrice = 4.0

    // MARK: Installs and postbacks

    /// The share of installs by people who had the app before.
    package var redownloadShare = 0.08
    /// The share of postbacks that the developer's copy repeats.
    package var developerCopyShare = 0.03
    /// How many of a hundred installs of a campaign are so few in their crowd that Apple reports two digits of the
    /// source identifier and a coarse value. Those with no value at all are the campaign's `nullRate`.
    package var coarseShare = 0.22
    /// The share of people who open the app after the first two days, and after the first week.
    package var secondWindowShare = 0.82
    package var thirdWindowShare = 0.74
    /// Installs without an ad, for each install by one.
    package var organicShare = 0.9

    // MARK: The game

    /// Prices in thousandths of USD, and how many of a hundred purchases have each.
    package var prices: [(milliunits: Int64, weight: Int)] = [
        (1990, 40), (4990, 28), (9990, 18), (19_990, 9), (49_990, 4), (99_990, 1),
    ]
    /// The average spend of a payer in the first seven days, in USD: from prices and purchases.
    package var payerRevenueDay7 = 9.6
    /// The share of payers of an organic install.
    package var organicPayerShare = 0.03
    /// The probability of one purchase more.
    package var repeatedPurchaseShare = 0.42
    package var gameRefundShare = 0.025

    // MARK: The subscription

    /// Thousandths of USD.
    package var monthlyPrice: Int64 = 9990
    package var annualPrice: Int64 = 59_990
    package var trialDays = 3
    package var annualShare = 0.25
    /// The share of installs without an ad that begin a trial, and of all trials that become a purchase.
    package var organicTrialShare = 0.12
    package var trialConversion = 0.36
    /// The share of subscriptions that are renewed each month, and of renewals that fail at first.
    package var renewalShare = 0.82
    package var failedRenewalShare = 0.06
    package var recoveredShare = 0.6
    package var subscriptionRefundShare = 0.02
    package var familyShare = 0.06
    /// Subscribers from before the first day, whose renewals are spread over a month.
    package var earlierSubscribers = 240

    // MARK: What goes wrong

    /// The share of records that are malformed.
    package var malformedShare = 0.0003

    package init() {}
}

package struct DemoApp: Sendable {
    package var id: Int64
    package var name: String
    package var bundleID: String
}

/// How a network attributes and reports.
package struct DemoNetwork: Sendable {
    package var id: String
    package var name: String
    /// The seat under which it bids in the exchange; nil for networks that report what they cost.
    package var seat: String?
    /// The versions of SKAdNetwork of its ads, an empty text for AdAttributionKit, and how many of a hundred
    /// installs come under each.
    package var versions: [(version: String, weight: Int)]
    /// Whether its ads are signed with the key that the catalog has.
    package var signsAds = false
    /// Whether its postbacks come from its own servers instead of from devices.
    package var isRelay = false
    /// How many days its postbacks are late: from none to this.
    package var lateDays = 0.0

    package static let all = [
        DemoNetwork(
            id: "nl4k7w2q9x.skadnetwork", name: "Northlight Ads", seat: "northlight",
            versions: [("4.0", 85), ("", 15)], signsAds: true),
        DemoNetwork(
            id: "kst8r5m3vd.skadnetwork", name: "Kestrel Network", seat: "kestrel",
            versions: [("3.0", 70), ("2.2", 30)]),
        DemoNetwork(
            id: "bp6x1n8trc.skadnetwork", name: "Brightpath", versions: [("4.0", 60), ("", 40)]),
        DemoNetwork(
            id: "tm3z9q5hwl.skadnetwork", name: "Tandem Media", versions: [("4.0", 100)],
            isRelay: true,
            lateDays: 6),
    ]
}

/// The costs and results of a campaign, as its buyer would note them.
package struct DemoCampaign: Sendable {
    package enum Goal: Sendable { case install, reEngagement }

    package var name: String
    /// Index of the network and whether the game is advertised.
    package var network: Int
    package var isForGame: Bool
    /// Four digits. The last two identify it among the campaigns of its network and app.
    package var source: String
    package var country: String
    package var currency: String
    /// Units of the currency a day on average.
    package var dailySpend: Double
    /// Units of the currency for an install.
    package var cpi: Double
    /// Units of the currency for a thousand ads.
    package var cpm: Double
    /// Taps for each ad that was presented.
    package var ctr: Double
    /// Revenue of the first seven days for each unit spent.
    package var returnDay7: Double
    /// The share of installs whose postbacks carry no value.
    package var nullRate: Double
    package var goal = Goal.install
    /// The share of its clicks that the SDK makes itself.
    package var automaticClicks = 0.0
    /// The highest cost of an install that its buyer accepts, in units of the currency; nil for no target.
    package var targetCPI: Double?
    /// The return by day 7 that its buyer expects; nil for no target.
    package var targetReturn: Double?

    /// The id of the campaign up to SKAdNetwork 3.0, from 1 to 100.
    package var id: Int { Int(source.suffix(2)) ?? 1 }

    package static let all = [
        // The exchange: what these cost is billed for each ad.
        DemoCampaign(
            name: "Kings launch, rewarded video", network: 0, isForGame: true, source: "5211",
            country: "US",
            currency: "USD", dailySpend: 6, cpi: 1.9, cpm: 32, ctr: 0.042, returnDay7: 0.38,
            nullRate: 0.16,
            targetCPI: 2.2),
        DemoCampaign(
            name: "Daybreak free trial", network: 0, isForGame: false, source: "5324",
            country: "US",
            currency: "USD", dailySpend: 7, cpi: 2.4, cpm: 34, ctr: 0.035, returnDay7: 0.55,
            nullRate: 0.19,
            targetReturn: 0.4),
        // Clicks that the SDK makes by itself: many taps, few installs, no revenue.
        DemoCampaign(
            name: "Kings playable, tier 1", network: 1, isForGame: true, source: "6137",
            country: "US",
            currency: "USD", dailySpend: 5, cpi: 2.9, cpm: 28, ctr: 0.16, returnDay7: 0.32,
            nullRate: 0.24,
            automaticClicks: 0.58,
            targetCPI: 2.5),
        DemoCampaign(
            name: "Daybreak evening stretch", network: 1, isForGame: false, source: "6248",
            country: "CA",
            currency: "USD", dailySpend: 5, cpi: 2.2, cpm: 30, ctr: 0.031, returnDay7: 0.52,
            nullRate: 0.22,
            targetReturn: 0.4),
        // Networks that report what they cost.
        DemoCampaign(
            name: "Kings lookalike payers", network: 2, isForGame: true, source: "7351",
            country: "US",
            currency: "USD", dailySpend: 118, cpi: 4.4, cpm: 14, ctr: 0.011, returnDay7: 0.62,
            nullRate: 0.12,
            targetCPI: 4.5, targetReturn: 0.45),
        DemoCampaign(
            name: "Kings broad", network: 2, isForGame: true, source: "7362", country: "CA",
            currency: "USD", dailySpend: 64, cpi: 2.2, cpm: 7, ctr: 0.009, returnDay7: 0.36,
            nullRate: 0.18,
            targetCPI: 2.5),
        DemoCampaign(
            name: "Daybreak annual offer", network: 2, isForGame: false, source: "7473",
            country: "US",
            currency: "USD", dailySpend: 96, cpi: 3.9, cpm: 12, ctr: 0.012, returnDay7: 0.5,
            nullRate: 0.14,
            targetReturn: 0.4),
        // Loses money: the highest price, and hardly anybody who pays.
        DemoCampaign(
            name: "Daybreak breathing reels", network: 2, isForGame: false, source: "7484",
            country: "US",
            currency: "USD", dailySpend: 88, cpi: 5.0, cpm: 11, ctr: 0.007, returnDay7: 0.16,
            nullRate: 0.2,
            targetReturn: 0.4),
        DemoCampaign(
            name: "Kings DACH video", network: 3, isForGame: true, source: "8515", country: "DE",
            currency: "EUR", dailySpend: 52, cpi: 2.4, cpm: 8, ctr: 0.01, returnDay7: 0.42,
            nullRate: 0.22,
            targetReturn: 0.4),
        DemoCampaign(
            name: "Kings Nordics playable", network: 3, isForGame: true, source: "8526",
            country: "FI",
            currency: "EUR", dailySpend: 31, cpi: 3.1, cpm: 10, ctr: 0.012, returnDay7: 0.44,
            nullRate: 0.27,
            targetReturn: 0.4),
        DemoCampaign(
            name: "Daybreak DACH", network: 3, isForGame: false, source: "8637", country: "DE",
            currency: "EUR", dailySpend: 47, cpi: 3.4, cpm: 9, ctr: 0.011, returnDay7: 0.46,
            nullRate: 0.24,
            targetReturn: 0.4),
        DemoCampaign(
            name: "Daybreak come back", network: 2, isForGame: false, source: "7495", country: "US",
            currency: "USD", dailySpend: 24, cpi: 1.6, cpm: 9, ctr: 0.015, returnDay7: 0.42,
            nullRate: 0.13,
            goal: .reEngagement),
    ]
}

extension DemoAssumptions {
    /// USD for one unit of a currency.
    package static let dollars = ["USD": 1.0, "CAD": 0.72, "EUR": 1.08]

    package func app(of campaign: DemoCampaign) -> DemoApp {
        campaign.isForGame ? game : subscription
    }

    /// The revenue of an install of a campaign within seven days, in USD.
    func revenueDay7(of campaign: DemoCampaign) -> Double {
        campaign.cpi * campaign.returnDay7 * (Self.dollars[campaign.currency] ?? 1)
    }

    /// The share of installs that purchase in the game.
    func payerShare(of campaign: DemoCampaign) -> Double {
        min(0.5, revenueDay7(of: campaign) / payerRevenueDay7)
    }

    /// The share of installs that begin a trial.
    func trialShare(of campaign: DemoCampaign) -> Double {
        let price = Double(monthlyPrice) * (1 - annualShare) + Double(annualPrice) * annualShare
        return min(0.6, revenueDay7(of: campaign) / (trialConversion * price / 1000))
    }
}
