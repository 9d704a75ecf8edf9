import ConfigurationValues
import ConversionModels
import Store
import Streams

/// The columns of `postbacks`, and of other tables of postbacks, that describe the postbacks of a row.
struct PostbackColumns<Key: RowKey>: ReadColumns {
    fileprivate let framework: TableColumn<Key, String>
    fileprivate let version: TableColumn<Key, String>
    fileprivate let campaign: CampaignColumns<Key>
    fileprivate let sourceApp: TableColumn<Key, Int64>
    fileprivate let sequenceIndex: TableColumn<Key, Int64>
    fileprivate let conversionType: TableColumn<Key, String>
    fileprivate let didWin: TableColumn<Key, Bool>
    fileprivate let verdict: TableColumn<Key, String>
    let indices: [Int]

    init(_ path: KeyPath<Key, PostbacksKey>) {
        framework = Key.column(path.appending(path: \.framework))
        version = Key.column(path.appending(path: \.version))
        campaign = CampaignColumns(path.appending(path: \.campaign))
        sourceApp = Key.column(path.appending(path: \.campaign.sourceAppID))
        sequenceIndex = Key.column(path.appending(path: \.sequenceIndex))
        conversionType = Key.column(path.appending(path: \.conversionType))
        didWin = Key.column(path.appending(path: \.didWin))
        verdict = Key.column(path.appending(path: \.verdict))
        indices =
            Key.time.indices + framework.indices + version.indices + campaign.indices
            + sourceApp.indices + sequenceIndex.indices + conversionType.indices + didWin.indices
            + verdict.indices
    }
}

/// The common columns of a row's postbacks.
struct PostbackRow {
    let hour: String
    let framework: String
    let network: String
    let campaign: String
    let app: Int64
    let sourceApp: Int64
    let sequenceIndex: Int64
    let conversionType: String
    let didWin: Bool
    let verdict: String
    let kind: CampaignIDKind

    /// The columns of `postbacks`.
    static let columns = PostbackColumns(\PostbacksKey.self)

    init<Key>(_ row: TableRow<Key>, _ columns: PostbackColumns<Key>) {
        hour = row[Key.time]
        framework = row[columns.framework]
        kind = CampaignIDKind(framework: framework, version: row[columns.version])
        network = row[columns.campaign.network]
        campaign = row[columns.campaign.campaign]
        app = row[columns.campaign.app]
        sourceApp = row[columns.sourceApp]
        sequenceIndex = row[columns.sequenceIndex]
        conversionType = row[columns.conversionType]
        didWin = row[columns.didWin]
        verdict = row[columns.verdict]
    }

    var timing: PostbackTiming { PostbackTiming(kind, sequenceIndex: sequenceIndex) }

    /// Re-engagements do not install anything, and the windows of development devices last minutes.
    var hasInstall: Bool { conversionType != "re-engagement" && verdict != "development" }

    func isTrusted(trustsDevelopment: Bool) -> Bool {
        verdict == "valid" || (trustsDevelopment && verdict == "development")
    }
}

/// A conversion value in a row of `conversion-values`.
struct PostbackValue: Hashable {
    /// 0 to 63; nil for a coarse value.
    let fine: Int?
    let coarse: CoarseValue?
}

extension PostbackValue {
    static let kind = ConversionValuesKey.column(\.kind)
    static let value = ConversionValuesKey.column(\.value)

    /// The values that Apple defines, in their order.
    static let allFine = (0...63).map { PostbackValue(fine: $0, coarse: nil) }
    static let allCoarse = CoarseValue.allCases.map { PostbackValue(fine: nil, coarse: $0) }

    init(_ row: TableRow<ConversionValuesKey>) {
        let (kind, value) = (row[Self.kind], row[Self.value])
        fine = kind == "fine" ? Int(value) : nil
        coarse = kind == "coarse" ? CoarseValue(rawValue: value) : nil
    }
}

/// A row of `conversion-values`: a number of winning postbacks with the same value.
struct ValuedPostbacks {
    let row: PostbackRow
    let value: PostbackValue
    let count: Int64

    /// The columns and measures that are read.
    static let reader = TableReader(
        columns, PostbackValue.kind, PostbackValue.value, measures: [.postbacks])
    static let columns = PostbackColumns(\ConversionValuesKey.postback)

    /// Nil for postbacks that did not win.
    init?(_ row: TableRow<ConversionValuesKey>) {
        count = row[.postbacks]
        self.row = PostbackRow(row, Self.columns)
        value = PostbackValue(row)
        guard self.row.didWin, count != 0 else { return nil }
    }

    /// The value decoded with a model.
    ///
    /// Versions take effect at whole hours, and a value was set whole hours before its postback arrived. So the stored
    /// hour gives the same result as the exact time.
    func decoding(_ model: ConversionModel, hourMilliseconds: Int64) -> ModelDecoding? {
        model.decoding(
            received: hourMilliseconds, timing: row.timing, fine: value.fine, coarse: value.coarse,
            sequenceIndex: Int(row.sequenceIndex))
    }
}

/// The recorded configuration that decoded the postbacks of a partition.
struct RecordedDecoding {
    /// The latest models, by app. Versions are only appended, so these decode earlier postbacks as they were decoded
    /// then.
    let models: [Int64: ConversionModel]
    /// The latest setting for trust in postbacks of development devices.
    let trustsDevelopment: Bool
    let changedTrust: Bool

    init(_ epochs: [Epoch]) throws(RecordedConfigurationFault) {
        var trust: [Bool] = []
        for epoch in epochs { trust.append(try epoch.configuration.trustsDevelopment()) }
        trustsDevelopment = trust.last ?? false
        changedTrust = Set(trust).count > 1
        let models = try epochs.last.map { epoch throws(RecordedConfigurationFault) in
            try [ConversionModel](recordedIn: epoch.configuration.text)
        }
        self.models = Dictionary(
            (models ?? []).map { ($0.app, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

extension FoldConfiguration {
    fileprivate func trustsDevelopment() throws(RecordedConfigurationFault) -> Bool {
        try RecordedConfiguration.read(text) {
            configuration throws(RecordedConfigurationFault) in
            try configuration.optional("trust_development")?.boolean() ?? false
        }
    }
}

extension StoreSlice {
    /// The recorded decoding of each partition of postbacks.
    ///
    /// - Throws: `unreadableConfiguration` for one that another version has recorded.
    func recordedDecodings() throws -> [Int32: RecordedDecoding] {
        var decodings: [Int32: RecordedDecoding] = [:]
        for number in numbers {
            let epochs = try snapshot.epochs(of: number)
            do throws(RecordedConfigurationFault) {
                decodings[number] = try RecordedDecoding(epochs)
            } catch {
                throw InspectionError.unreadableConfiguration(
                    stream: stream, partition: number, error)
            }
        }
        return decodings
    }
}

extension StoreView {
    /// The latest models of the apps, which readers use to estimate install days.
    func conversionModels() throws -> [Int64: ConversionModel] {
        var models: [Int64: ConversionModel] = [:]
        for slice in slices where slice.stream == PostbacksFold.streamName {
            for decoding in try slice.recordedDecodings().values { models.add(decoding.models) }
        }
        return models
    }
}

extension [Int64: ConversionModel] {
    /// Adds the models of another partition. During a rollout, some workers have later versions than others.
    mutating func add(_ others: [Int64: ConversionModel]) {
        merge(others) { $0.versions.count < $1.versions.count ? $1 : $0 }
    }
}

/// The install days of a row, with the apps and the kinds of their campaigns' ids. These determine the windows in which
/// Apple sends their postbacks.
struct InstallDays {
    private var kinds: [String: [Int64: CampaignIDKinds]] = [:]

    mutating func add(day: String, app: Int64, kinds: CampaignIDKinds) {
        self.kinds[day, default: [:]][app, default: []].formUnion(kinds)
    }

    mutating func formUnion(_ other: InstallDays) {
        kinds.merge(other.kinds) { $0.merging($1) { $0.union($1) } }
    }

    /// The days, with the apps of each.
    var apps: [(day: String, apps: [Int64])] { kinds.map { ($0, Array($1.keys)) } }

    /// The share of closed windows of these days, and the time after which no postback gets a likely install on them;
    /// null when it is not known.
    func maturity(at watermarkMilliseconds: Int64?, _ cohortEnds: CohortEnds) -> [ReportValue] {
        var (closed, count, last) = (0, 0, Int64?.none)
        for (day, apps) in kinds {
            // A window counts once per day, and is closed when it is closed for all apps.
            var ends: [(window: PostbackTiming, end: Int64)] = []
            for (app, kinds) in apps {
                for (window, end) in cohortEnds.ends(day: day, app: app, kinds: kinds) {
                    guard let index = ends.firstIndex(where: { $0.window == window }) else {
                        ends.append((window, end))
                        continue
                    }
                    ends[index].end = max(ends[index].end, end)
                }
            }
            count += ends.count
            for (_, end) in ends {
                if let watermarkMilliseconds, watermarkMilliseconds >= end { closed += 1 }
                last = max(last ?? end, end)
            }
        }
        let share = watermarkMilliseconds.map { _ in
            ReportValue.ratio(Int128(closed), Int128(count))
        }
        return [share ?? .null, .time(last)]
    }
}

/// The ends of windows of cohorts, each computed once.
final class CohortEnds {
    private struct Key: Hashable {
        let day: String
        let app: Int64
        let kinds: CampaignIDKinds
    }

    private let models: [Int64: ConversionModel]
    private let zone: ReportTimeZone
    private var cached: [Key: [(window: PostbackTiming, end: Int64)]] = [:]

    /// - Parameter zone: that of the days.
    init(_ models: [Int64: ConversionModel], in zone: ReportTimeZone) {
        self.models = models
        self.zone = zone
    }

    /// Empty for a day outside of years 0 to 9999, and for an unknown one.
    func ends(
        day: String, app: Int64, kinds: CampaignIDKinds
    ) -> [(window: PostbackTiming, end: Int64)] {
        let key = Key(day: day, app: app, kinds: kinds)
        if let ends = cached[key] { return ends }
        let ends = zone.bounds(ofDay: day).map { start, end in
            kinds.windows.map { window in
                let end = window.cohortEnd(
                    midnight: start, nextMidnight: end, model: models[app])
                return (window: window, end: end)
            }
        }
        cached[key] = ends ?? []
        return ends ?? []
    }
}

extension CampaignIDKinds {
    /// The windows in which Apple sends postbacks for ads with these ids: one for SKAdNetwork up to 3.0, three from 4.0
    /// on and for AdAttributionKit. An unknown kind has the windows of current devices.
    fileprivate var windows: [PostbackTiming] {
        (contains(.campaignID) ? [.upTo3] : [])
            + (contains(.sourceIdentifier) || !contains(.campaignID)
                ? [.window0, .window1, .window2] : [])
    }
}

extension PostbackTiming {
    /// The timing of values and installs for a version of the framework.
    init(_ kind: CampaignIDKind, sequenceIndex: Int64) {
        self =
            kind == .campaignID
            ? .upTo3 : PostbackTiming.window(Int(truncatingIfNeeded: sequenceIndex)) ?? .window0
    }
}
