import Streams

/// Values that the models of the demo and its apps share.
enum DemoModel {
    /// Lower bounds of the spend of a player, in thousandths of USD.
    static let gameBuckets: [Int64] = [
        0, 10, 2000, 5000, 8000, 10_000, 15_000, 20_000, 30_000, 40_000, 50_000, 75_000, 100_000,
    ]
    /// The most that the model knows of.
    static let gameTop: Int64 = 150_000
    /// The coarse value medium ends here.
    static let gameMediumTop: Int64 = 9990
}

/// A file of the demo's configuration, by its path within the pipelines directory.
package struct DemoFile: Sendable {
    package var path: String
    package var text: String
}

extension Demo {
    /// The files of the demo that differ from the configuration that Weir ships.
    package var configuration: [DemoFile] {
        [
            DemoFile(path: "catalog.yaml", text: catalog),
            DemoFile(path: "rates.csv", text: rates),
            DemoFile(path: "roots/demo-root.pem", text: DemoChain.rootPEM),
            DemoFile(path: "postbacks.yaml", text: postbacks),
            DemoFile(path: "store-notifications.yaml", text: storeNotifications),
            DemoFile(path: "conversion-models/\(assumptions.game.id).yaml", text: gameModel),
            DemoFile(
                path: "conversion-models/\(assumptions.subscription.id).yaml",
                text: subscriptionModel(annualPriceAtFirst: Self.wrongAnnualPrice)),
            DemoFile(
                path: "corrections/\(assumptions.subscription.id).yaml",
                text: subscriptionModel(annualPriceAtFirst: annualPrice)),
        ]
    }

    /// The price of a year in the first version of the subscription's model. The correction has the right one.
    private static let wrongAnnualPrice = "39.99"
    private var annualPrice: String { Self.amount(assumptions.annualPrice) }

    private static func amount(_ milliunits: Int64) -> String {
        let cents = milliunits / 10
        return "\(cents / 100).\(cents % 100 < 10 ? "0" : "")\(cents % 100)"
    }

    private var catalog: String {
        let networks = assumptions.networks.map { network in
            guard network.signsAds else { return "  \(network.id): \(network.name)" }
            return """
                  \(network.id):
                    name: \(network.name)
                    ad_signing_keys:
                      - \(keys.network.publicKey)
                """
        }
        let apps = [assumptions.publisher, assumptions.game, assumptions.subscription].map {
            "  \($0.id): {name: \($0.name), bundle_id: \($0.bundleID)}"
        }
        let campaigns = assumptions.campaigns.map { campaign in
            let targets = [
                ("target_cpi", campaign.targetCPI), ("target_roas_7", campaign.targetReturn),
            ].compactMap { key, target in target.map { "\n    \(key): \($0)" } }.joined()
            return """
                  - name: \(quoted(campaign.name))
                    network: \(assumptions.networks[campaign.network].id)
                    app: \(assumptions.app(of: campaign).id)
                    campaign_id: \(campaign.id)
                    source_identifier: "\(campaign.source)"
                    media_source: \(quoted(assumptions.networks[campaign.network].name))\(targets)
                """
        }
        return """
            # Names of the demo's networks, apps and campaigns, and the currency of amounts on pages.

            report_currency: USD

            networks:
            \(networks.joined(separator: "\n"))

            apps:
            \(apps.joined(separator: "\n"))

            campaigns:
            \(campaigns.joined(separator: "\n"))

            """
    }

    private func quoted(_ text: String) -> String { "\"\(text)\"" }

    /// One rate for each day, with the small movements of a market.
    private var rates: String {
        var lines = ["day,currency,base,rate"]
        for (currency, dollars) in DemoAssumptions.dollars.sorted(by: { $0.key < $1.key })
        where currency != "USD" {
            for day in -1...days {
                var random = SeededGenerator(seed: seed, 4, day)
                let tenThousandths = Int(dollars * random.between(0.995, 1.005) * 10_000)
                let midnight = firstMidnight + Int64(day) * DemoTime.day
                let fraction = String(tenThousandths % 10_000 + 10_000).dropFirst()
                lines.append(
                    "\(UTC.text(milliseconds: midnight).prefix(10)),\(currency),USD,\(tenThousandths / 10_000).\(fraction)"
                )
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private var postbacks: String {
        """
        # The demo signs its postbacks with keys of its own. Anyone can sign with them: never trust them elsewhere.
        trusted_keys:
          production:
            - \(keys.attribution.publicKey)
          adattributionkit:
            - kid: \(DemoKeys.keyID)
              key: \(keys.attribution.publicKey)
              verdict: valid

        """
    }

    private var storeNotifications: String {
        let apps = [assumptions.game, assumptions.subscription].map {
            """
              - bundle_id: \($0.bundleID)
                app_apple_id: \($0.id)
                shared_secrets: [demo-shared-secret]
            """
        }
        return """
            # The demo signs its notifications with a chain of its own. Anyone can sign with it: never trust it elsewhere.
            roots: [roots/demo-root.pem]
            apps:
            \(apps.joined(separator: "\n"))

            """
    }

    private var gameModel: String {
        """
        # What the conversion values of \(assumptions.game.name) mean: what a player spent.

        app: \(assumptions.game.id)

        versions:
          - id: kings-1
            effective_from: 2020-01-01T00:00:00Z
            currency: USD
            fine:
              fields:
                - kind: revenue
                  bits: [0, 3]
                  buckets: [\(DemoModel.gameBuckets.map(Self.amount).joined(separator: ", "))]
                  max: \(Self.amount(DemoModel.gameTop))
                - kind: flags
                  bits: [4, 5]
                  flags: {"4": tutorial_completed, "5": first_purchase}
            coarse:
              "0": &spent
                low: [{event: revenue, count_min: 0, count_max: 0, revenue_min: 0, revenue_max: 0}]
                medium: [{event: revenue, count_min: 0, count_max: 0, revenue_min: 1.99, revenue_max: \(Self.amount(DemoModel.gameMediumTop))}]
                high: [{event: revenue, count_min: 0, count_max: 0, revenue_min: \(Self.amount(DemoModel.gameMediumTop)), revenue_max: \(Self.amount(DemoModel.gameTop))}]
              "1": *spent
              "2": *spent

        """
    }

    /// From the middle of the demo on a second version has the right price; the first keeps what it was given.
    private func subscriptionModel(annualPriceAtFirst first: String) -> String {
        let middle = UTC.text(milliseconds: firstMidnight + Int64(days / 2) * DemoTime.day)
        let versions = [
            ("daybreak-1", "2020-01-01T00:00:00Z", first), ("daybreak-2", middle, annualPrice),
        ]
        let monthly = Self.amount(assumptions.monthlyPrice)
        let texts = versions.map { id, from, annual in
            """
              - id: \(id)
                effective_from: \(from)
                currency: USD
                fine:
                  fields:
                    - kind: events
                      bits: [0, 1]
                      values:
                        "1": {event: trial_started}
                        "2": {event: monthly_plan, revenue_min: \(monthly)}
                        "3": {event: annual_plan, revenue_min: \(annual)}
                    - kind: flags
                      bits: [2, 3]
                      flags: {"2": onboarding_completed, "3": first_class}
                coarse:
                  "0":
                    medium: [{event: trial_started}]
                    high: [{event: annual_plan, revenue_min: \(monthly), revenue_max: \(annual)}]
                  "1":
                    medium: [{event: monthly_plan, revenue_min: \(monthly)}]
                    high: [{event: annual_plan, revenue_min: \(annual)}]
                  "2":
                    medium: [{event: monthly_plan, revenue_min: \(monthly)}]
                    high: [{event: annual_plan, revenue_min: \(annual)}]
            """
        }
        return """
            # What the conversion values of \(assumptions.subscription.name) mean: trials and plans.

            app: \(assumptions.subscription.id)

            versions:
            \(texts.joined(separator: "\n"))

            """
    }
}
