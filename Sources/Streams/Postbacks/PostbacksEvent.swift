import ConversionModels
import EventLog
import Signatures

/// A decoded postback. Its texts are ranges of its batch's bytes.
struct PostbacksEvent {
    enum Interaction: UInt8 {
        case unknown, view, click
        /// An unknown word of AdAttributionKit: Apple adds words.
        case other

        var name: StaticString {
            switch self {
            case .unknown: ""
            case .view: "view"
            case .click: "click"
            case .other: "other"
            }
        }
    }

    enum ConversionType: UInt8 {
        case download, redownload, reEngagement
        /// An unknown word of AdAttributionKit.
        case other

        var name: StaticString {
            switch self {
            case .download: "download"
            case .redownload: "redownload"
            case .reEngagement: "re-engagement"
            case .other: "other"
            }
        }
    }

    /// The campaign as sent: a text with its zeros, or a number.
    enum Campaign {
        case none
        case text(Range<Int>)
        case number(Int64)
    }

    var framework: PostbacksEventType
    /// The version's text; empty for AdAttributionKit.
    var version: Range<Int> = 0..<0
    /// The layout; nil for an unknown version and for AdAttributionKit.
    var layout: SKAdNetworkLayout?
    /// As sent, in its original case.
    var network: Range<Int> = 0..<0
    /// As sent, in its original case.
    var transaction: Range<Int> = 0..<0
    var campaign = Campaign.none
    /// Whether the campaign is a source identifier, not a campaign id.
    var hasSourceIdentifier = false
    var appID: Int64 = 0
    /// The publisher's app; nil if missing.
    var sourceAppID: Int64?
    var sourceDomain: Range<Int> = 0..<0
    /// 0 to 2; 0 below 4.0.
    var sequenceIndex = 0
    var interaction = Interaction.unknown
    /// AdAttributionKit's word for the interaction as sent; nil if missing.
    var interactionWord: Range<Int>?
    var conversionType = ConversionType.download
    /// AdAttributionKit's marketplace; empty if missing.
    var marketplace: Range<Int> = 0..<0
    var didWin = true
    /// 0 to 63; nil if missing.
    var fineValue: Int?
    var coarseValue: CoarseValue?
    /// Empty if missing.
    var country: Range<Int> = 0..<0

    /// The event in the verified form, without a relay's zeros.
    func inForm(_ form: RelayForm) -> PostbacksEvent {
        var event = self
        if form.omitsSourceApp { event.sourceAppID = nil }
        if form.omitsFidelity { event.interaction = .unknown }
        // The layout signs the source app, otherwise the domain.
        if event.sourceAppID != nil { event.sourceDomain = 0..<0 }
        return event
    }

    /// The windows that apply: those of 3.0 and earlier, or those of the sequence index.
    var timing: PostbackTiming {
        if let layout, layout < .v4_0 { return .upTo3 }
        return PostbackTiming.window(sequenceIndex) ?? .upTo3
    }

    /// The time window of the app's first launch. `received` is in milliseconds since 1970.
    func installWindow(received: Int64, verdict: Verdict) -> InstallWindow {
        timing.installWindow(
            received: received, fineIsZero: fineValue == 0,
            reEngagement: conversionType == .reEngagement, development: verdict == .development)
    }

    /// The most likely time of the app's first launch, in milliseconds since 1970. Nil for re-engagements, and for
    /// development devices, which have windows of minutes.
    func likelyInstall(received: Int64, verdict: Verdict, model: ConversionModel?) -> Int64? {
        guard conversionType != .reEngagement, verdict != .development else { return nil }
        return timing.likelyInstall(received: received, model: model)
    }
}

/// The route of a postback: the header `ce_via`.
package enum PostbackRoute: CaseIterable, Sendable {
    /// From the device, to the ad network.
    case device
    /// From the device, to the advertised app's developer.
    case developerCopy
    /// Through a measurement service, which may have filled in zeros.
    case relay

    package var name: StaticString {
        switch self {
        case .device: "device"
        case .developerCopy: "developer-copy"
        case .relay: "relay"
        }
    }

    /// Reads the header; nil for an unknown word.
    init?(_ record: RecordView) {
        guard let via = record.headers.first(named: "ce_via") else {
            self = .device
            return
        }
        guard let route = Self.allCases.first(where: { via.equals($0.name) }) else { return nil }
        self = route
    }
}
