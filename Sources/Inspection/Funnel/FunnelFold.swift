import AggregateStore
import Pipelines
import Streams

/// Sums the aggregates of all streams into rows of the funnel.
struct FunnelFold {
    /// Rows with the same key.
    struct Group {
        let key: RowKeyBytes
        let columns: [StoredValue]
        var sums = FunnelSums()
    }

    /// When and for which campaign something was counted.
    struct Place {
        /// The hour; nil for postbacks whose install is not known.
        var timeMilliseconds: Int64?
        /// The day of the hour; empty without one.
        var day: String
        var network: String
        var app: Int64
        var campaign: String
        /// The kind of the campaign's id.
        var kind: CampaignIDKind
    }

    let selection: RowSelection
    let dateRule: FunnelQuery.DateRule
    let trustsDevelopment: Bool
    let estimates: Bool
    var hours = HourColumn()
    private let appsByBundle: [String: Int64]
    private var names: CampaignNames
    private var places: [RowKeyBytes: Int] = [:]
    private var unsortedGroups: [Group] = []
    private var salesByDay: [String: [Int64: AppSales]] = [:]
    private(set) var unknownBundles: Set<String> = []

    init(_ query: FunnelQuery, _ selection: RowSelection) {
        self.selection = selection
        dateRule = query.dateRule
        trustsDevelopment = query.trustsDevelopment
        estimates = query.estimates
        appsByBundle = query.appsByBundle
        names = CampaignNames(query.catalog)
    }

    /// The groups in order of their columns.
    var groups: [Group] { unsortedGroups.sorted { $0.key < $1.key } }

    mutating func add(_ copy: StoreView.Copy) throws {
        switch copy.stream {
        case FunnelSource.bids.name: try addBids(copy)
        case FunnelSource.impressions.name: try addImpressions(copy)
        case FunnelSource.overlayClicks.name: try addClicks(copy)
        case FunnelSource.postbacks.name: try addPostbacks(copy)
        default: try addNotifications(copy)
        }
    }

    /// Lets `body` add to the group of a place, if that is selected.
    mutating func add(_ place: Place, _ body: (inout FunnelSums) -> Void) {
        let named = names.named(
            network: place.network, app: place.app, campaign: place.campaign,
            as: CampaignIDKinds(place.kind))
        let values: [StoredValue] = [
            .text(place.day), .text(place.network), .integer(place.app), .text(named.campaign),
            .text(named.name), .text(named.mediaSource),
        ]
        guard selection.includes(values, timeMilliseconds: place.timeMilliseconds) else { return }
        var key = RowKeyBytes()
        for place in selection.places { key.append(values[place]) }
        let index = places[key] ?? unsortedGroups.count
        if index == unsortedGroups.count {
            places[key] = index
            unsortedGroups.append(
                Group(key: key, columns: selection.places.map { values[$0] }))
        }
        body(&unsortedGroups[index].sums)
        unsortedGroups[index].sums.note(app: place.app)
    }

    private mutating func addBids(_ copy: StoreView.Copy) throws {
        try copy.forEachRow(of: FunnelSource.bids) {
            _, columns, measures in
            guard measures.contains(where: { $0 != 0 }) else { return }
            let place = place(columns, CampaignIDKind(skanVersion: columns[4].text))
            add(place) { sums in
                sums.add(measures[0], to: .bids)
                sums.add(measures[1], to: .overlayRequested)
                sums.add(measures[2], to: .overlayEligible)
                sums.add(measures[3], to: .wins)
                if measures[4] != 0 {
                    sums.add(billedPriceMicros: measures[5], currency: columns[5])
                }
                sums.note(day: place.day, kinds: PostbackKinds(place.kind))
            }
        }
    }

    /// An impression that SKAdNetwork got is mostly of an ad that an SDK also presented and
    /// reported, so it is counted apart.
    private mutating func addImpressions(_ copy: StoreView.Copy) throws {
        let skadn = StoredValue.text("\(AdFormat.skadn.name)")
        try copy.forEachRow(of: FunnelSource.impressions) {
            _, columns, measures in
            addCounts(
                measures, as: [columns[4] == skadn ? .skadnImpressions : .presented, .viewed],
                columns)
        }
    }

    private mutating func addClicks(_ copy: StoreView.Copy) throws {
        try copy.forEachRow(of: FunnelSource.overlayClicks) {
            _, columns, measures in
            addCounts(measures, as: [.clicks, .automaticClicks], columns)
        }
    }

    private mutating func addCounts(
        _ measures: [Int64], as counts: [FunnelSums.Count], _ columns: [StoredValue]
    ) {
        guard measures.contains(where: { $0 != 0 }) else { return }
        let place = place(columns, .either)
        add(place) { sums in
            for (count, measure) in zip(counts, measures) { sums.add(measure, to: count) }
            sums.note(day: place.day, kinds: [])
        }
    }

    /// Refunds and sales belong to an app: they stand in every row of it, and in one of its own.
    /// Family members and holders of assigned seats bought nothing, so they are left out.
    private mutating func addNotifications(_ copy: StoreView.Copy) throws {
        try copy.forEachRow(of: FunnelSource.storeNotifications) { _, columns, measures in
            guard measures.contains(where: { $0 != 0 }), columns[1].text == "Production",
                columns[3].text == "\(Ownership.purchased)"
            else { return }
            guard let app = appsByBundle[columns[2].text] else {
                unknownBundles.insert(columns[2].text)
                return
            }
            let hour = hours.hour(columns[0].text)
            guard selection.includes(timeMilliseconds: hour.milliseconds) else { return }
            salesByDay[hour.day, default: [:]][app, default: AppSales()] += AppSales(measures)
            add(
                Place(
                    timeMilliseconds: hour.milliseconds, day: hour.day, network: "", app: app,
                    campaign: "", kind: .sourceIdentifier)
            ) { _ in }
        }
    }

    /// Sales and refunds of the apps of a group: on the group's day when groups have one, else in
    /// all of the selected time.
    func sales(of group: Group) -> AppSales {
        let isByDay = selection.places.first == Funnel.dayPlace
        let days = isByDay ? group.columns.prefix(1).map(\.text) : Array(salesByDay.keys)
        var sum = AppSales()
        for day in days where selection.includes(.text(day), at: Funnel.dayPlace) {
            guard let salesByApp = salesByDay[day] else { continue }
            for app in group.sums.apps {
                if let sales = salesByApp[app] { sum += sales }
            }
        }
        return sum
    }

    /// The place of a row whose first columns are the hour and the campaign's.
    mutating func place(_ columns: [StoredValue], _ kind: CampaignIDKind) -> Place {
        let hour = hours.hour(columns[0].text)
        return Place(
            timeMilliseconds: hour.milliseconds, day: hour.day, network: columns[1].text,
            app: columns[3].integer, campaign: columns[2].text, kind: kind)
    }
}

extension StoredValue {
    /// The text; empty for an integer.
    var text: String {
        if case .text(let text) = self { text } else { "" }
    }

    /// The integer; 0 for a text.
    var integer: Int64 {
        if case .integer(let integer) = self { integer } else { 0 }
    }
}
