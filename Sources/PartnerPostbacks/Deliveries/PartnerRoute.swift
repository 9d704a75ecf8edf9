import Pipelines

/// A partner, ready to be sent to: its file read, its secrets too.
struct PartnerRoute: Sendable {
    let name: String
    /// The address as the file has it.
    let url: String
    let template: RequestTemplate
    let destination: Destination
    let concurrency: Int
    let ratePerSecond: Int?
    private let signingSecrets: SigningSecrets?

    /// Reads what the partner's file says and names.
    ///
    /// - Parameter directory: the pipelines directory, where paths of secrets begin.
    init(_ partner: Partner, directory: String) throws(ConfigurationError) {
        let delivery = partner.delivery
        name = partner.name
        url = delivery.url.text
        template = try RequestTemplate(delivery, reading: .read(directory: directory))
        destination = Destination(
            host: template.address.host, allowsPrivate: delivery.allowPrivate,
            timeoutMilliseconds: Int64(delivery.timeoutSeconds) * 1000)
        concurrency = delivery.concurrency
        ratePerSecond = delivery.ratePerSecond
        signingSecrets = try delivery.secretFile.map { source throws(ConfigurationError) in
            try SigningSecrets(source, directory: directory)
        }
    }

    /// Routes to all partners that are sent to.
    static func routes(
        to partners: [Partner], directory: String
    ) throws(ConfigurationError) -> [PartnerRoute] {
        var routes: [PartnerRoute] = []
        for partner in partners where !partner.delivery.isOff {
            routes.append(try PartnerRoute(partner, directory: directory))
        }
        return routes
    }

    /// The request for a document at a time.
    func request(
        _ document: PostbackDocument, nowMilliseconds: Int64
    ) throws(RenderingFault) -> PartnerRequest {
        try template.request(document).signed(
            signingSecrets, key: document.idempotencyKey, timestampSeconds: nowMilliseconds / 1000)
    }
}
