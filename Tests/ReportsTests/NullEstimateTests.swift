import Foundation
import TestKit
import Testing

@testable import Reports

/// Campaigns of an app with values that are known to the test: those of small crowds are often null.
private struct SimulatedCampaigns: CustomStringConvertible, Sendable {
    let description: String
    let campaigns: Int
    let values: Int
    /// How near the campaigns are to the app.
    let strength: Double
    /// How even the app's values are.
    let evenness: Double
    /// How many installs half of the campaigns have in two weeks.
    let installs: Double

    /// How many times it is simulated.
    var seeds: UInt64 = 10

    static let all = [
        SimulatedCampaigns(
            description: "20 campaigns, 8 values", campaigns: 20, values: 8, strength: 30,
            evenness: 1, installs: 60),
        SimulatedCampaigns(
            description: "20 campaigns, 64 values", campaigns: 20, values: 64, strength: 30,
            evenness: 0.3, installs: 60),
        SimulatedCampaigns(
            description: "6 campaigns, 8 values", campaigns: 6, values: 8, strength: 30,
            evenness: 1, installs: 100, seeds: 40),
        SimulatedCampaigns(
            description: "40 campaigns that are alike, 12 values", campaigns: 40, values: 12,
            strength: 300, evenness: 0.5, installs: 200, seeds: 5),
        SimulatedCampaigns(
            description: "40 campaigns that differ, 12 values", campaigns: 40, values: 12,
            strength: 5, evenness: 0.5, installs: 40),
        SimulatedCampaigns(
            description: "3 campaigns, 16 values", campaigns: 3, values: 16, strength: 30,
            evenness: 0.3, installs: 60, seeds: 60),
        SimulatedCampaigns(
            description: "3 campaigns, 64 values", campaigns: 3, values: 64, strength: 30,
            evenness: 0.3, installs: 60, seeds: 60),
        SimulatedCampaigns(
            description: "10 campaigns that differ, 64 values", campaigns: 10, values: 64,
            strength: 5, evenness: 0.3, installs: 60, seeds: 20),
        SimulatedCampaigns(
            description: "10 campaigns that are alike, 64 values", campaigns: 10, values: 64,
            strength: 300, evenness: 1, installs: 60),
        SimulatedCampaigns(
            description: "100 campaigns, 64 values", campaigns: 100, values: 64, strength: 30,
            evenness: 0.3, installs: 60, seeds: 2),
    ]

    /// Coarse values: all of them are known.
    static let coarse = [
        SimulatedCampaigns(
            description: "3 campaigns, 3 values", campaigns: 3, values: 3, strength: 30,
            evenness: 0.5, installs: 100, seeds: 60),
        SimulatedCampaigns(
            description: "1 campaign, 3 values", campaigns: 1, values: 3, strength: 30,
            evenness: 0.5, installs: 100, seeds: 150),
    ]

    /// The chance that a postback of a crowd is null: the lower the tier, the more often.
    static func nullShare(crowd: Double) -> Double {
        crowd < 3 ? 0.9 : crowd < 10 ? 0.5 : crowd < 30 ? 0.2 : 0.03
    }

    /// How often each campaign has each value, where it is known, and where it is null.
    func postbacks(
        _ random: inout SeededGenerator
    ) -> (observed: [[Int64]], null: [[Int64]]) {
        let app = random.dirichlet(Array(repeating: evenness, count: values))
        var observed = Array(repeating: Array(repeating: Int64(0), count: values), count: campaigns)
        var null = observed
        for campaign in 0..<campaigns {
            let shares = random.dirichlet(app.map { $0 * strength + 1e-9 })
            let size = max(installs * exp(1.2 * random.normal()), 2)
            for _ in 0..<14 {
                let day = random.poisson(size / 14)
                let share = Self.nullShare(crowd: Double(day) * exp(0.5 * random.normal()))
                for _ in 0..<day {
                    var (value, left) = (0, Double.random(in: 0..<1, using: &random))
                    while value < values - 1, left >= shares[value] {
                        left -= shares[value]
                        value += 1
                    }
                    if Double.random(in: 0..<1, using: &random) < share {
                        null[campaign][value] += 1
                    } else {
                        observed[campaign][value] += 1
                    }
                }
            }
        }
        return (observed, null)
    }
}

extension SeededGenerator {
    fileprivate mutating func normal() -> Double {
        let radius = (-2 * log(Double.random(in: Double.leastNonzeroMagnitude..<1, using: &self)))
            .squareRoot()
        return radius * cos(2 * .pi * Double.random(in: 0..<1, using: &self))
    }

    fileprivate mutating func poisson(_ mean: Double) -> Int {
        guard mean < 30 else { return Int(max(0, (mean + normal() * mean.squareRoot()).rounded())) }
        var (count, product) = (0, Double.random(in: 0..<1, using: &self))
        let limit = exp(-mean)
        while product > limit {
            count += 1
            product *= Double.random(in: 0..<1, using: &self)
        }
        return count
    }

    /// A number of the gamma distribution, by the squeeze of Marsaglia and Tsang.
    private mutating func gamma(_ shape: Double) -> Double {
        guard shape >= 1 else {
            let uniform = Double.random(in: Double.leastNonzeroMagnitude..<1, using: &self)
            return gamma(shape + 1) * pow(uniform, 1 / shape)
        }
        let depth = shape - 1.0 / 3
        while true {
            let normal = normal()
            let cube = pow(1 + normal / (9 * depth).squareRoot(), 3)
            guard cube > 0 else { continue }
            let uniform = Double.random(in: Double.leastNonzeroMagnitude..<1, using: &self)
            if log(uniform) < normal * normal / 2 + depth * (1 - cube + log(cube)) {
                return depth * cube
            }
        }
    }

    fileprivate mutating func dirichlet(_ shapes: [Double]) -> [Double] {
        let parts = shapes.map { gamma($0) }
        let sum = parts.reduce(0, +)
        return parts.map { $0 / max(sum, Double.leastNonzeroMagnitude) }
    }
}

@Suite("Estimates of null values")
struct NullEstimateTests {
    /// How many rows of one kind there are, and in how many of them the interval holds the truth.
    fileprivate struct Coverage {
        private(set) var cases = 0
        private(set) var held = 0

        var share: Double { Double(held) / Double(max(cases, 1)) }

        mutating func add(_ estimate: NullEstimate, truth: Int64) {
            cases += 1
            if (estimate.low...estimate.high).contains(truth) { held += 1 }
        }
    }

    @Test(
        "an interval holds the truth in at least 90 % of cases, that of a value and that of all the others",
        arguments: SimulatedCampaigns.all)
    fileprivate func calibration(_ simulated: SimulatedCampaigns) {
        var (ofValues, ofRest) = (Coverage(), Coverage())
        for seed in 1...simulated.seeds {
            var random = SeededGenerator(seed: seed)
            let (all, null) = simulated.postbacks(&random)
            // A value that no postback has is no column of the known ones, and still may be missing.
            let seen = all[0].indices.filter { value in all.contains { $0[value] > 0 } }
            let observed = all.map { row in seen.map { row[$0] } }
            let pooled = PooledValues(observed: observed, possibleCount: 64)
            for campaign in observed.indices {
                let missing = null[campaign].reduce(0, +)
                guard missing > 0 else { continue }
                var others: [Int] = []
                var rest = missing
                for (index, value) in seen.enumerated() {
                    let estimate = pooled.estimate(of: index, campaign: campaign, missing: missing)
                    guard estimate.isLikely else {
                        others.append(index)
                        continue
                    }
                    ofValues.add(estimate, truth: null[campaign][value])
                    rest -= null[campaign][value]
                }
                let estimate = pooled.estimateOfRest(
                    others, campaign: campaign, missing: missing)
                guard !others.isEmpty || estimate.isLikely else { continue }
                ofRest.add(estimate, truth: rest)
            }
        }
        #expect((0.9...0.97).contains(ofValues.share), "\(ofValues)")
        #expect(ofRest.share >= 0.9, "\(ofRest)")
        #expect(ofValues.cases > 300 && ofRest.cases > 40)
    }

    /// How revenue rises with values, of which the first are the most frequent.
    enum Revenue: CaseIterable {
        case even, steep, once

        func amount(_ value: Int, of count: Int) -> Double {
            switch self {
            case .even: Double(value)
            case .steep: value == 0 ? 0 : pow(1000, Double(value) / Double(count))
            case .once: value == count - 1 ? 100 : 0
            }
        }
    }

    @Test(
        "an interval of revenue holds the truth in at least 90 % of cases, in a fraction of the bounds",
        arguments: SimulatedCampaigns.all.filter { $0.campaigns != 40 } + SimulatedCampaigns.coarse)
    fileprivate func revenueCalibration(_ simulated: SimulatedCampaigns) {
        let count = simulated.values
        var held = Dictionary(uniqueKeysWithValues: Revenue.allCases.map { ($0, 0) })
        var (cases, width, bounds) = (0, 0.0, 0.0)
        for seed in 1...simulated.seeds {
            var random = SeededGenerator(seed: seed)
            // Two windows, of which the second has half the revenue.
            let windows = [1, 0.5].map { scale in
                let (all, null) = simulated.postbacks(&random)
                let sums = (0..<count).map { value in all.reduce(0) { $0 + $1[value] } }
                let order = sums.indices.sorted { (sums[$0], $1) > (sums[$1], $0) }
                let seen = order.prefix { sums[$0] > 0 }
                let pooled = PooledValues(
                    observed: all.map { row in seen.map { row[$0] } },
                    possibleCount: count == 3 ? 3 : 64)
                return (scale, null.map { row in order.map { row[$0] } }, seen.count, pooled)
            }
            for campaign in 0..<simulated.campaigns {
                let isMissing = windows.contains { $0.1[campaign].contains { $0 > 0 } }
                guard isMissing, windows.allSatisfy({ $0.2 > 0 }) else { continue }
                cases += 1
                for revenue in Revenue.allCases {
                    var (low, high, truth) = (AmountTotal.zero, AmountTotal.zero, 0.0)
                    for (scale, null, seenCount, pooled) in windows {
                        let amounts = (0..<count).map { scale * revenue.amount($0, of: count) }
                        let missing = null[campaign].reduce(0, +)
                        truth += zip(null[campaign], amounts).reduce(0) { $0 + Double($1.0) * $1.1 }
                        bounds += Double(missing) * (amounts.max() ?? 0)
                        func total(unseen: Double?) -> AmountTotal {
                            pooled.total(
                                of: [
                                    MissingValues(
                                        count: missing,
                                        amounts: Array(amounts.prefix(seenCount)),
                                        unseenAmount: unseen)
                                ], campaign: campaign)
                        }
                        low = low + total(unseen: amounts.dropFirst(seenCount).min())
                        high = high + total(unseen: amounts.dropFirst(seenCount).max())
                    }
                    if low.low <= truth, truth <= high.high {
                        held[revenue, default: 0] += 1
                    }
                    width += high.high - low.low
                }
            }
        }
        for (revenue, held) in held {
            #expect(Double(held) >= 0.9 * Double(cases), "\(revenue): \(held) of \(cases)")
        }
        #expect(width < 0.3 * bounds, "\(width) of \(bounds)")
        #expect(cases > 99)
    }

    @Test("a campaign with many known values goes by these, one with few leans on the app")
    func pooling() {
        let even = Array(repeating: [Int64(50), 50], count: 10)
        let pooled = PooledValues(observed: even + [[900, 100], [2, 0], [0, 0]])
        func share(_ campaign: Int) -> Double {
            pooled.estimate(of: 0, campaign: campaign, missing: 1000).mean / 1000
        }
        #expect(abs(share(10) - 0.9) < 0.02)
        #expect((0.5...0.7).contains(share(11)))
        #expect(abs(share(12) - 0.53) < 0.05)
        // All are of one value or the other.
        let all = (0...1).reduce(0.0) {
            $0 + pooled.estimate(of: $1, campaign: 11, missing: 7).mean
        }
        #expect(abs(all - 7) < 1e-3)
    }

    @Test("many missing values are estimated as few are, in proportion")
    func scale() {
        let pooled = PooledValues(observed: [[3000, 1000], [2900, 1100], [3100, 900]])
        let many = pooled.estimate(of: 0, campaign: 0, missing: 1_000_000)
        #expect(abs(many.mean - 750_000) < 10_000)
        #expect(many.low < 750_000 && many.high > 750_000 && many.high - many.low < 100_000)
    }

    @Test(
        "the dump has a row for each likely value of a campaign, by the digits that all of its postbacks have"
    )
    func dump() throws {
        let stores = FunnelStores()
        let app: [String: Any] = ["app_id": 5, "ad_network_id": "n"]
        func postbacks(_ campaign: String, _ count: Int, _ nulls: Int) throws {
            try stores.postbacks(
                app.merging(["campaign": campaign, "postbacks": count, "null_values": nulls]) { $1 }
            )
        }
        func values(
            _ campaign: String, _ value: String, _ count: Int, _ more: [String: Any] = [:]
        )
            throws
        {
            let row: [String: Any] = [
                "campaign": campaign, "kind": "fine", "value": value, "postbacks": count,
                "framework": "skadnetwork", "version": "4.0", "conversion_type": "download",
                "did_win": 1, "verdict": "valid",
            ]
            try stores.conversionValues(app.merging(row) { $1 }.merging(more) { $1 })
        }
        try postbacks("5239", 100, 0)
        try postbacks("39", 20, 20)
        try postbacks("1001", 50, 0)
        try values("5239", "0", 60)
        try values("5239", "7", 40)
        try values("1001", "0", 50)
        // None of these is trusted and winning.
        try values("5239", "63", 1000, ["verdict": "invalid"])
        try values("5239", "62", 1000, ["did_win": 0])
        let opened = try stores.sample.stores("data")
        let query = ReportRequest(name: NullEstimates.name)
        let report = try opened.nullEstimates(query, trustsDevelopment: false)
        let lines = report.table.text(as: .csv).split(separator: "\r\n").map(String.init)
        #expect(
            lines[0]
                == "app_id,sequence_index,conversion_type,kind,ad_network_id,campaign,value,postbacks,null_values,known_values,known,estimated,estimated_low,estimated_high"
        )
        #expect(lines.count == 3)
        #expect(lines[1].hasPrefix("5,0,download,fine,n,*39,0,120,20,100,60,11.99"))
        #expect(lines[2].hasPrefix("5,0,download,fine,n,*39,7,120,20,100,40,7."))
        // Conditions choose rows, and change none.
        var condition = query
        condition.conditions = [.init(column: "campaign", value: "*39")]
        #expect(
            try opened.nullEstimates(condition, trustsDevelopment: false).table.rows
                == report.table.rows)
        // A campaign's whole identifier finds its row too.
        condition.conditions = [.init(column: "campaign", value: "5239")]
        #expect(
            try opened.nullEstimates(condition, trustsDevelopment: false).table.rows
                == report.table.rows)
        condition.conditions = [.init(column: "campaign", value: "*01")]
        #expect(try opened.nullEstimates(condition, trustsDevelopment: false).table.rows.isEmpty)
        var grouped = query
        grouped.grouping = .columns(["campaign"])
        #expect(throws: InspectionError.noGrouping("null-estimates")) {
            try opened.nullEstimates(grouped, trustsDevelopment: false)
        }
    }

    @Test("null values of an app without a known value are counted, and not estimated")
    func unknown() throws {
        let stores = FunnelStores()
        try stores.postbacks(["app_id": 5, "campaign": "12", "postbacks": 9, "null_values": 9])
        let report = try stores.sample.stores("data").nullEstimates(
            ReportRequest(name: NullEstimates.name), trustsDevelopment: false)
        #expect(report.table.rows.isEmpty && report.unknownCount == 9)
        #expect(
            report.notices.first?.hasPrefix("9 null values belong to apps and windows without")
                == true
        )
        let other = ReportRequest(
            name: NullEstimates.name, conditions: [.init(column: "campaign", value: "13")])
        #expect(
            try stores.sample.stores("data").nullEstimates(other, trustsDevelopment: false)
                .unknownCount == 0)
    }
}
