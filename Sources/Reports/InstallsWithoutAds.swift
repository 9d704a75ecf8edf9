import ConfigurationValues
import Store
import Streams

/// Counts the installs of a time, and those without an impression or click of their campaign in the attribution window.
/// Installs of networks that report no ads do not count.
struct InstallsWithoutAds {
    private static let columns = PublisherColumns(\PostbacksKey.campaign)
    private static let framework = PostbacksKey.column(\.framework)
    private static let version = PostbacksKey.column(\.version)
    private static let installs = TableReader(PostbackRow.columns, measures: [.postbacks])

    private let slices: [StoreSlice]
    private let choice: RowChoice
    private let hours: HourTexts
    private let ads: [(source: AdSource, slice: StoreSlice)]

    /// - Parameter choice: the hours in which their postbacks arrived.
    init(_ view: StoreView, _ choice: RowChoice, _ hours: HourTexts) {
        slices = view.slices.filter { $0.stream == PostbacksFold.streamName }
        self.choice = choice
        self.hours = hours
        ads = AdSource.all.flatMap { source in
            view.slices.filter { $0.stream == source.stream }.map { (source, $0) }
        }
    }

    func forEach(
        _ body: (_ key: SignalKey, _ count: Int128, _ isWithoutAd: Bool) throws -> Void
    ) throws {
        for slice in slices {
            guard let cache = slice.cache, let folded = try cache.hours.hours(of: slice) else {
                let seen = try seenAds()
                try slice.forEachRow(of: Self.installs, choice) { _, row in
                    guard let install = install(of: row, seen),
                        seen.networks.contains(install.key.network)
                    else { return }
                    try body(install.key, Int128(row[.postbacks]), install.isWithoutAd)
                }
                continue
            }
            try forEach(of: slice, cache, folded, body)
        }
    }

    private func seenAds() throws -> SeenAds {
        var seen = SeenAds()
        for (source, slice) in ads { try source.add(slice, hours, to: &seen) }
        return seen
    }

    /// The install of a row; nil without one.
    private func install(
        of row: TableRow<PostbacksKey>, _ ads: SeenAds
    ) -> (key: SignalKey, isWithoutAd: Bool)? {
        let row = PostbackRow(row, PostbackRow.columns)
        // A postback of a development device has no install.
        guard row.didWin, row.sequenceIndex == 0, row.conversionType == "download",
            row.isTrusted(trustsDevelopment: false), row.hasInstall
        else { return nil }
        let key = SignalKey(
            network: row.network, sourceApp: row.sourceApp, app: row.app, campaign: row.campaign,
            kind: row.kind)
        let received = hours[row.hour].milliseconds
        return (key, !ads.includes(key, row.timing, receivedAt: received))
    }

    // MARK: With a cache

    /// The columns of a signal key, as numbers are given to them.
    static let numbered = "signals"

    private static func columns(of row: TableRow<PostbacksKey>) -> [StoredValue] {
        let key = columns.key(row, .either)
        return [
            .text(key.network), .integer(key.sourceApp), .integer(key.app), .text(key.campaign),
            .text(row[framework]), .text(row[version]),
        ]
    }

    private static func key(_ columns: [StoredValue]) -> SignalKey {
        SignalKey(
            network: columns[0].text, sourceApp: columns[1].integer, app: columns[2].integer,
            campaign: columns[3].text,
            kind: CampaignIDKind(framework: columns[4].text, version: columns[5].text))
    }

    /// Those of a day depend on the ads before its end.
    private func forEach(
        of slice: StoreSlice, _ cache: ReportCache, _ folded: FoldedHours,
        _ body: (_ key: SignalKey, _ count: Int128, _ isWithoutAd: Bool) throws -> Void
    ) throws {
        var networks: Set<String> = []
        var adHours: [FoldedHours?] = []
        for (source, ads) in ads {
            adHours.append(try cache.hours.hours(of: ads))
            guard let own = adHours.last ?? nil else { continue }
            networks.formUnion(try source.networks(in: ads, hours, cache, own))
        }
        let units = folded.units(hours, choice.isHourWanted).map { unit, hour in
            (unit.text, version(unit, hour, folded, adHours))
        }
        let counts = try cache.installs.values(
            of: slice, PostbacksKey.table.name, units, empty: KeySums(measureCount: 2)
        ) { try installs(of: slice, $0, cache.columnNumbers, seenAds()) }
        var totals: [Int: (all: Int128, withoutAd: Int128)] = [:]
        for counts in counts {
            counts.forEach { key, amounts, _ in
                totals[key, default: (0, 0)].all += Int128(amounts[0])
                totals[key, default: (0, 0)].withoutAd += Int128(amounts[1])
            }
        }
        let columns = cache.columnNumbers.columns(of: Self.numbered)
        for (number, counts) in totals.sorted(by: { $0.key < $1.key }) {
            let key = Self.key(columns[number])
            guard networks.contains(key.network) else { continue }
            try body(key, counts.withoutAd, true)
            try body(key, counts.all - counts.withoutAd, false)
        }
    }

    /// The installs of days and hours: for each signal key all of them, and those without an ad.
    private func installs(
        of slice: StoreSlice, _ wanted: Set<String>, _ columnNumbers: ColumnNumbers,
        _ seen: SeenAds
    ) throws -> [String: KeySums] {
        func unit(_ hour: String) -> String? { FoldedHours.unit(of: hour, in: wanted, hours) }
        var counts: [String: [Int32: (all: Int64, withoutAd: Int64)]] = [:]
        try slice.forEachRow(
            of: Self.installs, RowChoice(isHourWanted: { unit($0) != nil })
        ) { _, row in
            guard let unit = unit(row[PostbacksKey.time]), let install = install(of: row, seen)
            else { return }
            let number = columnNumbers.number(of: Self.columns(of: row), in: Self.numbered)
            counts[unit, default: [:]][number, default: (0, 0)].all += row[.postbacks]
            if install.isWithoutAd { counts[unit]?[number]?.withoutAd += row[.postbacks] }
        }
        return counts.mapValues { counts in
            var sums = KeySums(measureCount: 2)
            for (number, count) in counts {
                sums.append(number, StoredSums([count.all, count.withoutAd]))
            }
            return sums
        }
    }

    /// The version of a day's installs without ads; nil if they must not be kept.
    private func version(
        _ unit: FoldedHours.Unit, _ hour: String, _ folded: FoldedHours, _ ads: [FoldedHours?]
    ) -> UnitVersion? {
        let known = ads.compactMap(\.self)
        guard known.count == ads.count else { return nil }
        let start = Hour(containing: hours[hour].milliseconds).hoursSince1970
        let end = unit.isDay ? (SeenAds.split(start).day + 1) * 24 : start + 1
        return UnitVersion(folded, unit) { parts in
            for ads in known {
                parts.append(ads.identity)
                let digest = ads.digest(before: Hour(hoursSince1970: end).text)
                parts.append(digest.map { "\($0)" } ?? "")
            }
        }
    }
}
