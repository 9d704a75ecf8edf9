/// A campaign as the catalog names it.
package struct CatalogCampaign: Equatable, Sendable {
    /// Name of the campaign.
    package let name: String
    /// Id of the ad network, lower case.
    package let network: String
    /// App Store id of the advertised app.
    package let app: Int64
    /// Campaign id below SKAdNetwork 4.0, 1...100.
    package let campaignID: Int?
    /// Source identifier of SKAdNetwork 4.0 and AdAttributionKit, 1 to 4 digits.
    package let sourceIdentifier: String?
    /// Where the campaign's ads run.
    package let mediaSource: String?
    /// Whom the campaign is run with or for, in the reader's own words.
    package let partner: String?
    /// The App Store offers that belong to the campaign, as `store-notifications` names them.
    package let offers: [String]

    /// What reports call the campaign: its source identifier, else its campaign id, else "".
    package var fullIdentifier: String {
        sourceIdentifier ?? campaignID.map { String($0) } ?? ""
    }

    /// The texts by which a postback may name the source identifier: itself, and its last three and
    /// two digits, which is all that a small crowd lets through.
    var sourceIdentifierTexts: [String] {
        guard let sourceIdentifier else { return [] }
        let shorter = (2...4).filter { $0 < sourceIdentifier.utf8.count }
        return [sourceIdentifier] + shorter.map { String(sourceIdentifier.suffix($0)) }
    }
}

/// Which of a campaign's ids a text is.
package enum CampaignIDKind: Sendable {
    /// The campaign id, below version 4.0.
    case campaignID
    /// The source identifier, from version 4.0 on, perhaps shortened.
    case sourceIdentifier
    /// Not known, as in an aggregate: either fits.
    case either
}

/// What the catalog knows about a campaign's id.
package enum CampaignMatch: Equatable, Sendable {
    /// The one campaign that it can be.
    case known(CatalogCampaign)
    /// The campaigns that it can be, more than one, in the order of the catalog.
    case ambiguous([CatalogCampaign])
    /// No campaign.
    case unknown
}
