import Demonstration
import Streams

extension Demo {
    /// The demo's market with more campaigns. Half of them buy in the exchange. Their names and ids differ; what they
    /// spend and bring is that of the demo's campaigns.
    ///
    /// - Parameters:
    ///   - days: the number of days that it makes.
    ///   - end: the midnight after the last one, in milliseconds since 1970.
    static func large(
        campaigns count: Int, scale: Double, seed: UInt64 = 1, days: Int, end: Int64
    ) throws -> Demo {
        var demo = try Demo(seed: seed, days: days, scale: scale, end: end)
        let known = demo.assumptions
        let ofExchange = known.campaigns.filter { known.networks[$0.network].seat != nil }
        let ofReports = known.campaigns.filter { known.networks[$0.network].seat == nil }
        var networks: [DemoNetwork] = []
        var campaigns: [DemoCampaign] = []
        // Two digits name a campaign among those of its network and app.
        let groupSize = 99
        for number in 0..<count {
            let group = number / groupSize
            if networks.count == group * known.networks.count {
                networks += known.networks.map { Self.network($0, number: group) }
            }
            let samples = number.isMultiple(of: 2) ? ofExchange : ofReports
            var campaign = samples[number / 2 % samples.count]
            campaign.network += group * known.networks.count
            campaign.name += " \(number)"
            campaign.source = "\(1001 + group % 80 * 100 + number % groupSize)"
            campaigns.append(campaign)
        }
        demo.assumptions.networks = networks
        demo.assumptions.campaigns = campaigns
        return demo
    }

    /// A network of its own name, whose ads have no key in the catalog: pages do not check signatures.
    private static func network(_ sample: DemoNetwork, number: Int) -> DemoNetwork {
        var network = sample
        network.id = "n\(number)\(sample.id)"
        network.name += " \(number)"
        network.seat = sample.seat.map { "\($0)-\(number)" }
        network.signsAds = false
        return network
    }
}
