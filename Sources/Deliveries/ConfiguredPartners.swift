import ConfigurationValues
import HTTPClient
import Logging
import Program
import Store

/// A partner that can receive documents: its file and its secrets have been read.
struct PartnerRoute: Sendable {
    let name: String
    /// The address as written in the file.
    let url: String
    let template: RequestTemplate
    let destination: Destination
    let concurrency: Int
    let ratePerSecond: Int?
    private let signingSecrets: SigningSecrets?

    /// - Parameter directory: the pipelines directory; paths of secrets are relative to it.
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

    /// Routes to all partners with an address.
    static func routes(
        to partners: [Partner], directory: String
    ) throws(ConfigurationError) -> [PartnerRoute] {
        try partners.filter { !$0.delivery.isOff }.map { partner throws(ConfigurationError) in
            try PartnerRoute(partner, directory: directory)
        }
    }

    func request(
        _ document: DeliveryDocument, nowMilliseconds: Int64
    ) throws(RenderingFault) -> OutgoingRequest {
        var request = try template.request(document)
        if let signingSecrets {
            let (key, seconds) = (document.idempotencyKey, nowMilliseconds / 1000)
            let signature = signingSecrets.signature(
                id: key, timestampSeconds: seconds, body: request.body ?? [])
            request.sign(signature, key: key, timestampSeconds: seconds)
        }
        return request
    }
}

/// The configured partners, for the store.
struct ConfiguredPartners: Sendable {
    /// Addresses by partner name, as written in the files.
    private(set) var urls: [String: String] = [:]
    /// Partners without an address in their files.
    private(set) var off: Set<String> = []

    init(_ partners: [Partner]) {
        for partner in partners {
            if partner.delivery.isOff {
                off.insert(partner.name)
            } else {
                urls[partner.name] = partner.delivery.url.text
            }
        }
    }

    init(urls: [String: String], off: Set<String> = []) {
        self.urls = urls
        self.off = off
    }

    /// Why documents for a partner are held; nil if they can be sent.
    func reasonHeld(_ partner: String) -> String? {
        guard urls[partner] == nil else { return nil }
        return off.contains(partner)
            ? DeliveryReason.off.text("partners/\(partner).yaml has no url")
            : DeliveryReason.unknownPartner.text("no file partners/\(partner).yaml")
    }
}

/// Watches the partners' files and the files of their secrets while the program runs. A change takes effect as a
/// whole, or not at all if any part is wrong.
struct FollowedPartners {
    private let pipelines: PipelineDirectory
    private let logger: Logger
    private var monitor: ConfigurationMonitor
    private let fault = StandingFault()
    /// Whether the directory of partners has existed: its disappearance is then a mistake.
    private var hasDirectory: Bool
    /// The partners that can receive documents.
    private var configured: Set<String>

    init(_ pipelines: PipelineDirectory, from partners: [Partner], logger: Logger) {
        self.pipelines = pipelines
        self.logger = logger
        hasDirectory = pipelines.has(.partners)
        configured = Set(partners.filter { !$0.delivery.isOff }.map(\.name))
        monitor = ConfigurationMonitor(Self.files(pipelines, partners))
    }

    private static func files(_ pipelines: PipelineDirectory, _ partners: [Partner]) -> [String] {
        var secrets: [String] = []
        for partner in partners {
            let texts = partner.delivery.secrets.map(\.value.text)
            secrets += texts.filter { $0.hasPrefix("file:") }
                .map { String($0.dropFirst("file:".count)) }
            if let file = partner.delivery.secretFile { secrets.append(file.text) }
        }
        return ["\(pipelines.path)/partners"]
            + secrets.map { $0.hasPrefix("/") ? $0 : "\(pipelines.path)/\($0)" }
    }

    /// The partners after a change; nil without a change. Called on every turn of the loop.
    mutating func look() -> (partners: ConfiguredPartners, routes: [PartnerRoute])? {
        guard monitor.look() != nil else { return nil }
        do {
            let partners = try pipelines.partners(isRequired: hasDirectory)
            hasDirectory = pipelines.has(.partners)
            let routes = try PartnerRoute.routes(to: partners, directory: pipelines.path)
            monitor.paths = Self.files(pipelines, partners)
            fault.clear()
            let names = routes.map(\.name).joined(separator: ",")
            logger.notice(
                "the partners were reloaded",
                metadata: ["partners": "\(names.isEmpty ? "none" : names)"])
            for name in routes.map(\.name) where !configured.contains(name) {
                logger.notice(
                    "waiting documents of a new partner are sent now; restart weir-postbacks to publish new documents for it",
                    metadata: ["partner": "\(name)"])
            }
            configured = Set(routes.map(\.name))
            return (ConfiguredPartners(partners), routes)
        } catch {
            monitor.tryAgain()
            if fault.isNews("\(error)") {
                logger.warning("\(error): the previous configuration stays in force")
            }
            return nil
        }
    }
}
