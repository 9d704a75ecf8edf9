import ConversionModels
import Store
import Streams

/// The hours in which impressions and clicks of campaigns were seen.
struct SeenAds {
    private struct App: Hashable {
        let network: String
        let app: Int64
    }

    /// SKAdNetwork attributes a click for 30 days.
    private static let windowHours: Int64 = 30 * 24

    private var campaigns: [App: [(campaign: String, index: Int)]] = [:]
    /// By campaign: the seen hours of each day since 1970, as bits.
    private var days: [[Int64: UInt32]] = []
    /// The networks with ads; those of others are not reported here.
    private(set) var networks: Set<String> = []

    /// The index of a campaign.
    mutating func index(network: String, app: Int64, campaign: String) -> Int {
        let key = App(network: network, app: app)
        if let known = campaigns[key]?.first(where: { $0.campaign == campaign }) {
            return known.index
        }
        networks.insert(network)
        campaigns[key, default: []].append((campaign, days.count))
        days.append([:])
        return days.count - 1
    }

    mutating func add(hours: UInt32, ofDay day: Int64, toCampaign index: Int) {
        days[index][day, default: 0] |= hours
    }

    mutating func add(hour: Int64, toCampaign index: Int) {
        let (day, bit) = Self.split(hour)
        add(hours: 1 << bit, ofDay: day, toCampaign: index)
    }

    /// The day of an hour, and its bit. Both count from 1970.
    static func split(_ hour: Int64) -> (day: Int64, bit: UInt32) {
        let bit = (hour % 24 + 24) % 24
        return ((hour - bit) / 24, UInt32(bit))
    }

    /// Whether an ad may have led to an install with a postback of these columns in this hour. An ad without a campaign
    /// matches any campaign, and a postback may contain only the last digits of a campaign's id.
    ///
    /// The install was a day or more before the postback, so later ads make no difference.
    func includes(
        _ key: SignalKey, _ timing: PostbackTiming, receivedAt received: Int64
    ) -> Bool {
        let window = timing.installWindow(
            received: received, fineIsZero: true, reEngagement: false, development: false)
        guard let latest = window.latest else { return true }
        // Includes the hour of the latest install.
        let last = Hour(containing: latest).hoursSince1970 + 1
        let earliest = Hour(containing: (window.earliest ?? latest) - 1).hoursSince1970 + 1
        let first = earliest - Self.windowHours
        return campaigns[App(network: key.network, app: key.app)]?.contains { campaign, index in
            (campaign.isEmpty || campaign == key.campaign
                || (key.kind != .campaignID && !key.campaign.isEmpty
                    && campaign.hasSuffix(key.campaign)))
                && isSeen(index, first...last)
        } ?? false
    }

    private func isSeen(_ index: Int, _ hours: ClosedRange<Int64>) -> Bool {
        let (first, last) = (Self.split(hours.lowerBound), Self.split(hours.upperBound))
        let seen = days[index]
        return (first.day...last.day).contains { day in
            guard var bits = seen[day] else { return false }
            if day == first.day { bits &= .max << first.bit }
            if day == last.day { bits &= .max >> (31 - last.bit) }
            return bits != 0
        }
    }
}

/// The campaigns with ads in the hours of a day.
struct SeenCampaigns: UnitValue {
    /// Since 1970.
    let day: Int64
    /// By number of the campaign's columns: hours as bits.
    private(set) var hours: [Int32: UInt32] = [:]

    var byteCount: Int { 64 + hours.count * 16 }

    init(day: Int64) { self.day = day }

    var written: [UInt8]? {
        var writer = KeptWriter()
        writer.append(day)
        writer.append(Array(hours.keys))
        writer.append(Array(hours.values))
        return writer.bytes
    }

    init(_ reader: inout KeptReader) throws {
        day = try reader.integer()
        let campaigns: [Int32] = try reader.array()
        hours = Dictionary(uniqueKeysWithValues: zip(campaigns, try reader.array(of: UInt32.self)))
    }

    mutating func add(_ campaign: Int32, bit: UInt32) { hours[campaign, default: 0] |= 1 << bit }
}

/// The ads of a stream.
struct AdSource: Sendable {
    let stream: String
    let table: AggregateTable
    /// The network, the app and the campaign.
    private let columns: [Int]

    private init<Key: RowKey>(
        _ stream: String, _ path: KeyPath<Key, CampaignKey>, _ measures: [Key.Measure]
    ) {
        self.stream = stream
        let campaign = CampaignColumns(path)
        let table = TableReader(Key.time, campaign, measures: measures).indices.table
        self.table = table
        columns = [campaign.network.index, campaign.app.index, campaign.campaign.index].map {
            index in
            table.columns.firstIndex { $0.name == Key.table.columns[index].name } ?? 0
        }
    }

    static let all = [
        AdSource(ImpressionsFold.streamName, \ImpressionsKey.ad.campaign, [.presented, .viewed]),
        AdSource(
            OverlayClicksFold.streamName, \OverlayClicksKey.ad.campaign,
            [.clicks, .automaticClicks, .early]),
    ]

    static let numbered = "seen campaigns"

    /// The network, the app and the campaign of a row.
    private func campaign(_ row: [StoredValue]) -> [StoredValue] { columns.map { row[$0] } }

    /// Adds the ads of a slice, at any time.
    func add(_ slice: StoreSlice, _ hours: HourTexts, to ads: inout SeenAds) throws {
        guard let cache = slice.cache, let folded = try cache.hours.hours(of: slice) else {
            return try slice.forEachRow(of: table) { _, row, sums in
                guard sums.amounts.contains(where: { $0 > 0 }),
                    let time = table.columns.firstIndex(where: { $0.kind.isTime })
                else { return }
                let index = ads.index(campaign(row))
                ads.add(
                    hour: Hour(containing: hours[row[time].text].milliseconds).hoursSince1970,
                    toCampaign: index)
            }
        }
        let parts = try parts(of: slice, hours, cache, folded)
        let numbers = cache.columnNumbers.columns(of: Self.numbered)
        var indices: [Int32: Int] = [:]
        for part in parts {
            for (number, bits) in part.hours {
                let index = indices[number] ?? ads.index(numbers[Int(number)])
                indices[number] = index
                ads.add(hours: bits, ofDay: part.day, toCampaign: index)
            }
        }
    }

    /// The networks with ads in a slice, at any time.
    func networks(
        in slice: StoreSlice, _ hours: HourTexts, _ cache: ReportCache, _ folded: FoldedHours
    ) throws -> Set<String> {
        let parts = try parts(of: slice, hours, cache, folded)
        let numbers = cache.columnNumbers.columns(of: Self.numbered)
        var isSeen = Array(repeating: false, count: numbers.count)
        for part in parts { for number in part.hours.keys { isSeen[Int(number)] = true } }
        return Set(numbers.indices.lazy.filter { isSeen[$0] }.map { numbers[$0][0].text })
    }

    private func parts(
        of slice: StoreSlice, _ hours: HourTexts, _ cache: ReportCache, _ folded: FoldedHours
    ) throws -> [SeenCampaigns] {
        let units = folded.units(hours) { _ in true }.map { unit, _ in
            (unit.text, UnitVersion(folded, unit))
        }
        return try cache.seen.values(
            of: slice, table.name, units, empty: SeenCampaigns(day: 0)
        ) { missing in
            func unit(_ hour: String) -> String? {
                FoldedHours.unit(of: hour, in: missing, hours)
            }
            var numbers: [Int64: Int32] = [:]
            var read: [String: SeenCampaigns] = [:]
            try slice.snapshot.forEachDaySums(
                of: table, partitions: slice.numbers, RowChoice(isHourWanted: { unit($0) != nil }),
                by: { $0 }
            ) { hour, sums, columns in
                guard let unit = unit(hour) else { return }
                let (day, bit) = SeenAds.split(
                    Hour(containing: hours[hour].milliseconds).hoursSince1970)
                var seen = read[unit] ?? SeenCampaigns(day: day)
                read[unit] = nil
                try sums.forEach { key, stored in
                    guard stored.amounts.contains(where: { $0 > 0 }) else { return }
                    let number =
                        try numbers[key]
                        ?? cache.columnNumbers.number(of: campaign(columns(key)), in: Self.numbered)
                    numbers[key] = number
                    seen.add(number, bit: bit)
                }
                read[unit] = seen
            }
            return read
        }
    }
}

extension SeenAds {
    /// The index of a campaign with these columns: the network, the app and the campaign.
    fileprivate mutating func index(_ columns: [StoredValue]) -> Int {
        index(
            network: columns[0].text, app: columns[1].integer, campaign: columns[2].text)
    }
}
