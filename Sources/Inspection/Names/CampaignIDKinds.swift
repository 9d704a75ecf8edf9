import Pipelines

/// The kinds of campaign ids that the records behind a row have.
struct CampaignIDKinds: OptionSet, Hashable {
    let rawValue: UInt8

    static let campaignID = CampaignIDKinds(rawValue: 1)
    static let sourceIdentifier = CampaignIDKinds(rawValue: 2)
    /// Nothing says which of both it is.
    static let either = CampaignIDKinds(rawValue: 4)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ kind: CampaignIDKind) {
        switch kind {
        case .campaignID: self = .campaignID
        case .sourceIdentifier: self = .sourceIdentifier
        case .either: self = .either
        }
    }

    /// Each of them.
    var kinds: [CampaignIDKind] {
        [CampaignIDKind.campaignID, .sourceIdentifier, .either].filter { contains(Self($0)) }
    }
}
