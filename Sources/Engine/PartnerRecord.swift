import ConfigurationValues
import EventLog
import JSON
import Store
import Streams

/// Creates the records of `partner-postbacks`: documents with the catalog's present names.
package struct PartnerRecord {
    /// The folded topic.
    let topic: String
    /// The topic of documents for partners.
    let partnerTopic: String
    let catalog: Catalog
    let parser: JSONParser

    package init(topic: String, partnerTopic: String, catalog: Catalog, parser: JSONParser) {
        self.topic = topic
        self.partnerTopic = partnerTopic
        self.catalog = catalog
        self.parser = parser
    }

    /// The record of a document that the set of stores publishes by itself. After a correction its revisions continue
    /// from the correction's.
    func record(
        of postback: PartnerPostback, revisionOffset: Int64
    ) throws(WorkerError) -> OutgoingRecord {
        var postback = postback
        postback.document.revision += revisionOffset
        return try record(of: postback)
    }

    package func record(of correction: Correction) throws(WorkerError) -> OutgoingRecord {
        var postback = correction.postback
        if correction.kind == .withdrawn {
            postback.document = try postback.document.read { document throws(JSONFault) in
                try document.withdrawn(parser)
            }
        }
        postback.document.revision = correction.revision
        postback.document.supersedes = correction.supersedes
        return try record(of: postback)
    }

    private func record(of postback: PartnerPostback) throws(WorkerError) -> OutgoingRecord {
        let match = catalog.campaign(
            network: postback.adNetworkID, app: postback.appID, campaign: postback.campaign,
            as: postback.hasSourceIdentifier ? .sourceIdentifier : .campaignID)
        var known: CatalogCampaign?
        if case .known(let campaign) = match { known = campaign }
        let document = postback.published(
            name: known?.name, network: catalog.networkName(postback.adNetworkID),
            app: catalog.appName(postback.appID), mediaSource: known?.mediaSource)
        let receivedAt = try postback.document.read { document throws(JSONFault) in
            try document.receivedAt(parser)
        }
        return OutgoingRecord(
            topic: partnerTopic, key: Array(postback.id.utf8),
            headers: [
                .init("ce_specversion", "1.0"), .init("ce_type", "partner.postback"),
                .init("ce_id", "\(postback.id):\(postback.document.revision)"),
                .init("ce_source", "/weir/\(topic)"),
                .init("ce_time", receivedAt),
                .init("content-type", "application/json"),
            ],
            value: Array(document.utf8))
    }
}

extension PartnerDocument {
    /// The values of a stored document.
    package func values() throws(WorkerError) -> Values {
        guard let parser = JSONParser() else {
            throw .unexpected("no memory for a JSON parser")
        }
        return try read { document throws(JSONFault) in try document.values(parser) }
    }

    fileprivate func read<Result>(
        _ body: (PartnerDocument) throws(JSONFault) -> Result
    ) throws(WorkerError) -> Result {
        do {
            return try body(self)
        } catch {
            throw .unexpected("a published document cannot be parsed: \(stored)")
        }
    }
}
