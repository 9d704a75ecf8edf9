import Pipelines

/// What is known of the postbacks that decoded events come from, whose rows do not say it.
struct DecodedOrigin {
    private var kinds: PostbackKinds = []
    private(set) var hasInstall = false

    mutating func add(_ row: WinningPostbacks) {
        kinds.insert(PostbackKinds(row.kind))
        hasInstall = hasInstall || row.hasInstall
    }

    /// Which id their campaign is.
    var kind: CampaignIDKind {
        switch kinds {
        case .upTo3: .campaignID
        case .from4: .sourceIdentifier
        default: .either
        }
    }
}
