import AggregateStore
import ConversionModels
import Pipelines
import Streams

extension FunnelFold {
    /// Adds the postbacks of a store. What depends on several rows is computed for each partition
    /// alone, so it does not depend on which stores the partitions are in.
    mutating func addPostbacks(_ copy: StoreView.Copy) throws {
        var rows: [RowKeyBytes: WinningPostbacks] = [:]
        try copy.forEachRow(of: FunnelSource.postbacks) {
            partition, columns, measures in
            guard
                let row = WinningPostbacks(
                    partition, columns, measures, trustsDevelopment: trustsDevelopment)
            else { return }
            let key = RowKeyBytes(partition, columns)
            if rows[key]?.add(row) == nil { rows[key] = row }
        }
        let zeros = dateRule == .install ? try fineZeros(copy) : [:]
        let recorded = try copy.recordedDecodings()
        var installs: Set<RowKeyBytes> = []
        for (key, row) in rows {
            let model = recorded[row.partition]?.models[row.app]
            add(row, model: model, allAreZero: zeros[key] == row.count)
            if row.hasInstall { installs.insert(row.decodedKey) }
        }
        try addDecodedEvents(copy, withInstall: installs)
        try addValues(copy, recorded)
    }

    private mutating func add(
        _ row: WinningPostbacks, model: ConversionModel?, allAreZero: Bool
    ) {
        let place = datedPlace(
            hour: row.hour, network: row.network, app: row.app, campaign: row.campaign,
            kind: row.kind, sequenceIndex: row.sequenceIndex, hasInstall: row.hasInstall)
        let interval = installInterval(of: row, allAreZero: allAreZero)
        let received = hours.hour(row.hour).milliseconds
        add(place) { sums in
            sums.reach.add(
                row.nullValues, model, received: received, timing: row.timing, fine: nil,
                coarse: nil, sequenceIndex: Int(row.sequenceIndex))
            sums.add(row.count, to: .postbacks)
            sums.add(row.nullValues, to: .nullValues)
            if row.sequenceIndex == 0 {
                switch row.conversionType {
                case "download": sums.add(row.count, to: .installs)
                case "redownload": sums.add(row.count, to: .redownloads)
                default: sums.add(row.count, to: .reengagements)
                }
            }
            if !place.day.isEmpty { sums.note(day: place.day, kinds: PostbackKinds(row.kind)) }
            sums.note(installs: interval)
        }
    }

    /// Adds the bounds of the revenue that the values stand for.
    private mutating func addValues(
        _ copy: StoreView.Copy, _ recorded: [Int32: RecordedDecoding]
    ) throws {
        try copy.forEachRow(of: ValuedPostbacks.table) { partition, columns, measures in
            guard let row = ValuedPostbacks(columns, measures),
                row.isTrusted(trustsDevelopment: trustsDevelopment)
            else { return }
            let model = recorded[partition]?.models[row.app]
            let received = hours.hour(row.hour).milliseconds
            let place = datedPlace(
                hour: row.hour, network: row.network, app: row.app, campaign: row.campaign,
                kind: row.kind, sequenceIndex: row.sequenceIndex, hasInstall: row.hasInstall)
            add(place) { sums in
                sums.reach.add(
                    Int128(row.count), model, received: received, timing: row.timing,
                    fine: row.fine, coarse: row.coarse, sequenceIndex: Int(row.sequenceIndex))
            }
        }
    }

    /// - Parameter installs: what the rows of postbacks that say when an app was installed have in
    ///   common with rows of decoded events.
    private mutating func addDecodedEvents(
        _ copy: StoreView.Copy, withInstall installs: Set<RowKeyBytes>
    ) throws {
        try copy.forEachRow(of: FunnelSource.decodedEvents) { partition, columns, measures in
            let key = RowKeyBytes(partition, columns[0...5] + columns[7...])
            let place = datedPlace(
                hour: columns[0].text, network: columns[1].text, app: columns[3].integer,
                campaign: columns[2].text,
                kind: CampaignIDKind(hasSourceIdentifier: columns[7].integer != 0),
                sequenceIndex: columns[5].integer, hasInstall: installs.contains(key))
            add(place) { sums in
                sums.add(
                    revenueMinMicros: measures[0], max: measures[1], currency: columns[6])
            }
        }
    }

    /// The place of postbacks: the hour of their arrival, or that of the latest possible install.
    ///
    /// The latest install is whole hours before the arrival. So its hour and day are exact,
    /// although stores know only the hour of the arrival.
    private mutating func datedPlace(
        hour text: String, network: String, app: Int64, campaign: String, kind: CampaignIDKind,
        sequenceIndex: Int64, hasInstall: Bool
    ) -> Place {
        let arrival = hours.hour(text)
        var time: Int64? = arrival.milliseconds
        var day = arrival.day
        if dateRule == .install {
            time =
                hasInstall
                ? PostbackTiming(kind, sequenceIndex: sequenceIndex).latestInstall(
                    received: arrival.milliseconds) : nil
            day = time.map { String(Hour(containing: $0).text.prefix { $0 != "T" }) } ?? ""
        }
        return Place(
            timeMilliseconds: time, day: day, network: network, app: app, campaign: campaign,
            kind: kind)
    }

    private mutating func installInterval(
        of row: WinningPostbacks, allAreZero: Bool
    ) -> InstallInterval {
        guard dateRule == .install, row.hasInstall else { return InstallInterval() }
        let arrival = hours.hour(row.hour).milliseconds
        let window = row.timing.installWindow(
            received: arrival, fineIsZero: allAreZero, reEngagement: false, development: false)
        guard let latest = window.latest else { return InstallInterval() }
        return InstallInterval(earliest: window.earliest, latest: latest + Hour.milliseconds)
    }

    /// How many postbacks of each row of `postbacks` have the fine value 0: up to version 3.0 only
    /// these show the earliest install.
    private func fineZeros(_ copy: StoreView.Copy) throws -> [RowKeyBytes: Int128] {
        let width = FunnelSource.postbacks.columns.count
        var zeros: [RowKeyBytes: Int128] = [:]
        try copy.forEachRow(of: FunnelSource.conversionValues) { partition, columns, measures in
            guard columns[width] == .text("fine"), columns[width + 1] == .text("0") else { return }
            zeros[RowKeyBytes(partition, columns[..<width]), default: 0] += Int128(measures[0])
        }
        return zeros
    }
}

extension PostbackTiming {
    fileprivate func latestInstall(received: Int64) -> Int64? {
        installWindow(received: received, fineIsZero: true, reEngagement: false, development: false)
            .latest
    }
}

/// A row of `postbacks` that counts in the funnel: trusted and winning.
struct WinningPostbacks {
    private(set) var count: Int128
    private(set) var nullValues: Int128
    /// The kind of the campaign's id.
    let kind: CampaignIDKind
    let conversionType: String
    let hour: String
    let network: String
    let campaign: String
    let app: Int64
    let sourceApp: Int64
    let sequenceIndex: Int64
    /// Re-engagements install nothing, and the windows of development devices last minutes.
    let hasInstall: Bool
    let partition: Int32

    /// Reads a row of `FunnelSource.postbacks`; nil when it does not count.
    init?(
        _ partition: Int32, _ columns: [StoredValue], _ measures: [Int64], trustsDevelopment: Bool
    ) {
        let verdict = columns[10].text
        let isTrusted = verdict == "valid" || (trustsDevelopment && verdict == "development")
        guard isTrusted, columns[9].integer != 0,
            measures.contains(where: { $0 != 0 })
        else { return nil }
        self.partition = partition
        count = Int128(measures[0])
        nullValues = Int128(measures[1])
        hour = columns[0].text
        kind = CampaignIDKind(framework: columns[1].text, version: columns[2].text)
        network = columns[3].text
        campaign = columns[4].text
        app = columns[5].integer
        sourceApp = columns[6].integer
        sequenceIndex = columns[7].integer
        conversionType = columns[8].text
        hasInstall = conversionType != "re-engagement" && verdict != "development"
    }

    /// Adds the row with the same columns of another partition.
    mutating func add(_ other: WinningPostbacks) {
        count += other.count
        nullValues += other.nullValues
    }

    var timing: PostbackTiming { PostbackTiming(kind, sequenceIndex: sequenceIndex) }

    /// The key that decoded events share with their postbacks.
    var decodedKey: RowKeyBytes {
        RowKeyBytes(
            partition,
            [
                .text(hour), .text(network), .text(campaign), .integer(app), .integer(sourceApp),
                .integer(sequenceIndex), .integer(kind == .campaignID ? 0 : 1),
            ])
    }
}

/// The kinds of postbacks that Apple sends for an ad, by their windows.
struct PostbackKinds: OptionSet {
    let rawValue: UInt8

    /// SKAdNetwork up to 3.0: one postback.
    static let upTo3 = PostbackKinds(rawValue: 1)
    /// SKAdNetwork from 4.0 on, and AdAttributionKit: three windows.
    static let from4 = PostbackKinds(rawValue: 2)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Empty when the kind of id does not decide it.
    init(_ kind: CampaignIDKind) {
        switch kind {
        case .campaignID: self = .upTo3
        case .sourceIdentifier: self = .from4
        case .either: self = []
        }
    }

    /// The windows; when the kind is not known, those of current devices.
    private var windows: [PostbackTiming] {
        (contains(.upTo3) ? [.upTo3] : [])
            + (contains(.from4) || isEmpty ? [.window0, .window1, .window2] : [])
    }

    /// How many windows these days have, and how many of them are closed: no first delivery can
    /// arrive any more.
    static func windows(
        of kindsByDay: [String: PostbackKinds], closedAt watermarkMilliseconds: Int64
    ) -> (all: Int128, closed: Int128) {
        var all: Int128 = 0
        var closed: Int128 = 0
        for (day, kinds) in kindsByDay {
            guard let midnight = UTC.milliseconds(text: day) else { continue }
            let dayEnd = midnight + dayMilliseconds
            for window in kinds.windows {
                all += 1
                if watermarkMilliseconds >= dayEnd + window.closingMilliseconds { closed += 1 }
            }
        }
        return (all, closed)
    }

    /// The time after which no postback for installs of these days can arrive, late and repeated
    /// deliveries included, in milliseconds since 1970; nil without days.
    static func finalAfterMilliseconds(of kindsByDay: [String: PostbackKinds]) -> Int64? {
        kindsByDay.compactMap { day, kinds -> Int64? in
            guard let midnight = UTC.milliseconds(text: day) else { return nil }
            let longest = kinds.windows.map(\.longestMilliseconds).max() ?? 0
            return midnight + dayMilliseconds + longest
        }.max()
    }

    private static let dayMilliseconds = 24 * Hour.milliseconds
}

extension PostbackTiming {
    /// The timing of values and installs, by the version of the framework.
    init(_ kind: CampaignIDKind, sequenceIndex: Int64) {
        self =
            kind == .campaignID
            ? .upTo3 : PostbackTiming.window(Int(truncatingIfNeeded: sequenceIndex)) ?? .window0
    }

    /// How long after an install its postback can arrive: on first delivery, without restarts of
    /// the timer.
    var closingMilliseconds: Int64 {
        let window = installWindow(
            received: 0, fineIsZero: true, reEngagement: false, development: false)
        return -(window.earliest ?? 0)
    }

    /// How long after an install its postback can arrive at all: devices retry for nine days, and
    /// up to version 3.0 each of 63 rises of the value may restart the timer of 24 hours.
    var longestMilliseconds: Int64 {
        let days: Int64 = self == .upTo3 ? 63 + 9 : 9
        return closingMilliseconds + days * 24 * Hour.milliseconds
    }
}
