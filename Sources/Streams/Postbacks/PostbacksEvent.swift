import ConversionModels
import EventLog
import Signatures

/// A decoded postback. Its texts are ranges of the bytes that its batch keeps.
struct PostbacksEvent {
    enum Interaction: UInt8 {
        case unknown, view, click
        /// A word of AdAttributionKit's that is not known here: Apple adds words.
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
        /// A word of AdAttributionKit's that is not known here.
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

    /// The campaign as it was sent: a text with its zeros, or a number.
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
    /// As it was sent, in its own case.
    var network: Range<Int> = 0..<0
    /// As it was sent, in its own case.
    var transaction: Range<Int> = 0..<0
    var campaign = Campaign.none
    /// Whether that is a source identifier, and not a campaign id.
    var hasSourceIdentifier = false
    var appID: Int64 = 0
    /// The publisher's app; nil when absent.
    var sourceAppID: Int64?
    var sourceDomain: Range<Int> = 0..<0
    /// 0 to 2; 0 below 4.0.
    var sequenceIndex = 0
    var interaction = Interaction.unknown
    /// AdAttributionKit's word for the interaction as it was sent; nil when absent.
    var interactionWord: Range<Int>?
    var conversionType = ConversionType.download
    /// The marketplace of AdAttributionKit; empty when absent.
    var marketplace: Range<Int> = 0..<0
    var didWin = true
    /// 0 to 63; nil when absent.
    var fineValue: Int?
    var coarseValue: CoarseValue?
    /// Empty when absent.
    var country: Range<Int> = 0..<0

    /// The event as the form that verified has it: a relay's zeros are left out.
    func inForm(_ form: RelayForm) -> PostbacksEvent {
        var event = self
        if form.omitsSourceApp { event.sourceAppID = nil }
        if form.omitsFidelity { event.interaction = .unknown }
        // The layout signs the source app, else the domain.
        if event.sourceAppID != nil { event.sourceDomain = 0..<0 }
        return event
    }

    /// Which windows apply: those of 3.0 and before, or those of the sequence index.
    var timing: PostbackTiming {
        if let layout, layout < .v4_0 { return .upTo3 }
        return PostbackTiming.window(sequenceIndex) ?? .upTo3
    }

    /// When the app was first launched, of a postback that came at an instant in milliseconds since 1970.
    func installWindow(received: Int64, verdict: Verdict) -> InstallWindow {
        timing.installWindow(
            received: received, fineIsZero: fineValue == 0,
            reEngagement: conversionType == .reEngagement, development: verdict == .development)
    }

    /// When the app was most likely first launched, in milliseconds since 1970; nil where nothing is known of an install:
    /// of re-engagements, and of development devices, whose windows last minutes.
    func likelyInstall(received: Int64, verdict: Verdict, model: ConversionModel?) -> Int64? {
        guard conversionType != .reEngagement, verdict != .development else { return nil }
        return timing.likelyInstall(received: received, model: model)
    }
}

/// How a postback came: what the header `ce_via` says.
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

    /// Reads the header; nil for a word that is none of these.
    init?(_ record: RecordView) {
        guard let via = record.headers.first(named: "ce_via") else {
            self = .device
            return
        }
        guard let route = Self.allCases.first(where: { via.equals($0.name) }) else { return nil }
        self = route
    }
}
