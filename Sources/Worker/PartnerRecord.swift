import AggregateStore
import EventLog
import Pipelines
import Streams

/// A partner postback on its way to `partner-postbacks`: with the names that the catalog has today.
struct PartnerRecord {
    /// The topic that is folded.
    var topic: String
    /// The topic of documents for partners.
    var partnerTopic: String
    /// Where the names are.
    var catalog: Catalog

    /// What the set of stores publishes by itself; better copies of what was corrected go on behind the
    /// correction's number.
    func record(of postback: PartnerPostback, revisionOffset: Int64) -> OutgoingRecord {
        record(
            of: postback, revision: postback.revision + revisionOffset, supersedes: nil,
            rest: postback.documentWithoutRevision)
    }

    /// A correction. Throws when the document that was published is not understood.
    func record(of correction: Correction) throws(WorkerError) -> OutgoingRecord {
        let postback = correction.postback
        return record(
            of: postback, revision: correction.revision, supersedes: correction.supersedes,
            rest: correction.kind == .withdrawn
                ? try PostbackDocumentText(postback.document).withdrawn
                : postback.documentWithoutRevision)
    }

    private func record(
        of postback: PartnerPostback, revision: Int64, supersedes: String?, rest: String
    ) -> OutgoingRecord {
        let superseded = supersedes.map { ",\"supersedes\":\"\($0)\"" } ?? ""
        let document =
            "{\"id\":\"\(postback.id)\",\"revision\":\(revision)\(superseded)\(rest.dropLast())"
            + ",\"campaign\":\(campaign(of: postback))}"
        return OutgoingRecord(
            topic: partnerTopic, key: Array(postback.id.utf8),
            headers: [
                .init("ce_specversion", "1.0"), .init("ce_type", "partner.postback"),
                .init("ce_id", "\(postback.id):\(revision)"),
                .init("ce_source", "/weir/\(topic)"),
                .init("ce_time", postback.receivedAt),
                .init("content-type", "application/json"),
            ],
            value: Array(document.utf8))
    }

    /// The campaign's ids with the names that the catalog has for them today.
    private func campaign(of postback: PartnerPostback) -> String {
        let match = catalog.campaign(
            network: postback.adNetworkID, app: postback.appID, campaign: postback.campaign,
            as: postback.hasSourceIdentifier ? .sourceIdentifier : .campaignID)
        var known: CatalogCampaign?
        if case .known(let campaign) = match { known = campaign }
        var text = JSONText()
        text.object { text in
            text.name("name")
            text.string(known?.name)
            text.name("network")
            text.string(catalog.networkName(postback.adNetworkID))
            text.name("app")
            text.string(catalog.appName(postback.appID))
            text.name("media_source")
            text.string(known?.mediaSource)
            text.name("ad_network_id")
            text.string(postback.adNetworkID)
            text.name("campaign")
            text.string(postback.campaign)
            text.name("app_id")
            text.raw(postback.appID)
            text.name("source_app_id")
            text.raw(postback.sourceAppID)
        }
        return text.text
    }
}
