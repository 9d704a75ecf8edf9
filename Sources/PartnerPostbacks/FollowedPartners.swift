import Logging
import Pipelines
import Worker

/// Follows the partners' files, and those of their secrets, while deliveries are made: all of them are taken over
/// at once or, where anything is wrong, none.
struct FollowedPartners {
    private let pipelines: PipelineDirectory
    private let logger: Logger
    private var watch: ConfigurationWatch
    private var said: String?

    /// Follows from these partners on.
    init(_ pipelines: PipelineDirectory, from partners: [Partner], logger: Logger) {
        self.pipelines = pipelines
        self.logger = logger
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
            let partners = try pipelines.partners()
            let routes = try PartnerRoute.routes(to: partners, directory: pipelines.path)
            watch.paths = Self.files(pipelines, partners)
            said = nil
            let names = routes.map(\.name).joined(separator: ",")
            logger.notice(
                "the partners were read again",
                metadata: ["partners": "\(names.isEmpty ? "none" : names)"])
            return (KnownPartners(partners), routes)
        } catch {
            watch.tryAgain()
            let words = "\(error): the partners that are in force stay"
            if said != words { logger.warning("\(words)") }
            said = words
            return nil
        }
    }
}
