import Logging
import Pipelines
import Worker

/// Follows the partners' files, and those of their secrets, while deliveries are made: all of them are taken over
/// at once or, where anything is wrong, none.
struct FollowedPartners {
    private let pipelines: PipelineDirectory
    private let logger: Logger
    private var watch: ConfigurationWatch
    private let fault = StandingFault()
    /// Whether the directory of the partners is there, so that one that is gone is a mistake.
    private var hasDirectory: Bool

    /// Follows from these partners on.
    init(_ pipelines: PipelineDirectory, from partners: [Partner], logger: Logger) {
        self.pipelines = pipelines
        self.logger = logger
        hasDirectory = pipelines.has(.partners)
        watch = ConfigurationWatch(Self.files(pipelines, partners))
    }

    private static func files(_ pipelines: PipelineDirectory, _ partners: [Partner]) -> [String] {
        let secrets = partners.flatMap { partner in
            partner.delivery.secrets.map(\.value.text).filter { $0.hasPrefix("file:") }
                .map { String($0.dropFirst("file:".count)) }
                + [partner.delivery.secretFile?.text].compactMap(\.self)
        }
        return ["\(pipelines.path)/partners"]
            + secrets.map { $0.hasPrefix("/") ? $0 : "\(pipelines.path)/\($0)" }
    }

    /// The partners as they are to be from now on; nil when nothing has changed. To be called now and then.
    mutating func look() -> (partners: KnownPartners, routes: [PartnerRoute])? {
        guard watch.look() != nil else { return nil }
        do {
            let partners = try pipelines.partners(isRequired: hasDirectory)
            hasDirectory = pipelines.has(.partners)
            let routes = try PartnerRoute.routes(to: partners, directory: pipelines.path)
            watch.paths = Self.files(pipelines, partners)
            fault.clear()
            let names = routes.map(\.name).joined(separator: ",")
            logger.notice(
                "the partners were read again",
                metadata: ["partners": "\(names.isEmpty ? "none" : names)"])
            return (KnownPartners(partners), routes)
        } catch {
            watch.tryAgain()
            if fault.isNews("\(error)") { logger.warning("\(error): what is in force stays") }
            return nil
        }
    }
}
