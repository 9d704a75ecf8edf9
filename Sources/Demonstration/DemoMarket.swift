import Streams

/// Runs the demo day by day: what campaigns spend, the ads and installs that it buys, and what people do then.
struct DemoMarket {
    let demo: Demo
    var calendar: DemoCalendar
    /// App Store transactions have numbers in the order in which they are made.
    private var transactions: Int64 = 2_000_000_700_000_000

    init(_ demo: Demo) {
        self.demo = demo
        calendar = DemoCalendar(
            from: demo.firstMidnight, to: demo.end,
            outage: demo.outageDay.map { demo.firstMidnight + Int64($0) * DemoTime.day })
    }

    var assumptions: DemoAssumptions { demo.assumptions }

    mutating func nextTransaction() -> Int64 {
        transactions += 1
        return transactions
    }

    /// - Returns: the records of the day, whatever day they were made on.
    mutating func run(_ day: Int) throws -> DemoDay {
        let midnight = demo.firstMidnight + Int64(day) * DemoTime.day
        for (index, campaign) in assumptions.campaigns.enumerated() {
            var random = SeededGenerator(seed: demo.seed, 1, day, index)
            let spend = spend(of: campaign, on: day, &random)
            let network = assumptions.networks[campaign.network]
            if network.seat != nil {
                guard day != demo.outageDay else { continue }
                let ads = random.count(spend / campaign.cpm * 1000)
                for _ in 0..<ads {
                    try sell(campaign, at: midnight + random.timeOfDay(), &random)
                }
            } else {
                report(campaign, spend: spend, on: midnight, &random)
                for _ in 0..<random.count(spend / campaign.cpi) {
                    try addInstall(
                        of: campaign, at: midnight + random.timeOfDay(), sourceApp: nil, &random)
                }
            }
        }
        var random = SeededGenerator(seed: demo.seed, 2, day)
        try addOrganicInstalls(on: midnight, &random)
        try addFaults(on: day, midnight, &random)
        return calendar.take(day)
    }

    /// Weekends are busier, and campaigns grow.
    private func spend(
        of campaign: DemoCampaign, on day: Int, _ random: inout SeededGenerator
    ) -> Double {
        let weekday = (demo.firstMidnight / DemoTime.day + Int64(day) + 4) % 7
        let week = [1.12, 0.95, 0.93, 0.94, 0.97, 1.02, 1.14][Int(weekday)]
        let growth = 0.88 + 0.24 * Double(day) / Double(demo.days)
        return campaign.dailySpend * demo.scale * week * growth * random.between(0.88, 1.12)
    }

    /// A network reports a day's cost late on the same day, completes it the next morning, and corrects it three days
    /// later.
    private mutating func report(
        _ campaign: DemoCampaign, spend: Double, on midnight: Int64, _ random: inout SeededGenerator
    ) {
        let network = assumptions.networks[campaign.network]
        let source = network.name.lowercased().replacing(" ", with: "-")
        let correction = random.between(0.985, 1.005)
        let day = UTC.text(milliseconds: midnight).prefix(10)
        for (delay, factor) in [(23, 0.96), (30, 1.0), (102, correction)] {
            let cents = Int64(spend * factor * 100)
            let ads = Int64(spend * factor / campaign.cpm * 1000)
            let at = midnight + Int64(delay) * DemoTime.hour
            calendar.add(
                "costs", "cost.reported", at: at,
                id: "\(source)/\(day)/\(campaign.source)/\(delay)",
                source: "/costs/\(source)", key: "\(source):\(campaign.source)",
                """
                {"source":"\(source)","day":"\(day)","campaign":{"ad_network_id":"\(network.id)",\
                "source_identifier":"\(campaign.source)","app_id":\(assumptions.app(of: campaign).id)},\
                "name":"\(campaign.name)","country":"\(campaign.country)","currency":"\(campaign.currency)",\
                "amount":\(cents / 100).\(cents % 100 < 10 ? "0" : "")\(cents % 100),"impressions":\(ads),\
                "clicks":\(Int64(Double(ads) * campaign.ctr)),"installs":\(Int64(spend * factor * 1.07 / campaign.cpi))}
                """)
        }
    }

    private mutating func addOrganicInstalls(
        on midnight: Int64, _ random: inout SeededGenerator
    ) throws {
        for isForGame in [true, false] {
            let paid = assumptions.campaigns.filter {
                $0.isForGame == isForGame && $0.goal == .install
            }
            .reduce(0) { $0 + $1.dailySpend / $1.cpi }
            for _ in 0..<random.count(paid * assumptions.organicShare * demo.scale) {
                let at = midnight + random.timeOfDay()
                let country = random.pick([("US", weight: 70), ("CA", 12), ("DE", 14), ("FI", 4)])
                let person = person(isForGame: isForGame, campaign: nil, &random)
                try addSales(of: person, isForGame: isForGame, country: country, at: at, &random)
            }
        }
    }
}
