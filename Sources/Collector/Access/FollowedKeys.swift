import Logging
import Pipelines
import Worker

/// Follows `collector.yaml` and the files of its token keys while the collector works: who may send what is
/// taken over at once, all of it or, where anything is wrong, none.
struct FollowedKeys {
    private let pipelines: PipelineDirectory
    private let logger: Logger
    private let use: (CollectorPipeline.Access) -> Void
    private var watch: ConfigurationWatch
    /// What the file said at the start.
    private let first: CollectorPipeline
    private var inForce: CollectorPipeline.Access
    /// Whether what is in force is from the file, so that a file that is gone is a mistake.
    private var isFromFile: Bool
    private var said: String?

    /// Follows from a state on, which is in force.
    init(
        _ pipelines: PipelineDirectory, from first: CollectorPipeline, logger: Logger,
        use: @escaping (CollectorPipeline.Access) -> Void
    ) {
        self.pipelines = pipelines
        self.first = first
        inForce = first.access
        self.logger = logger
        self.use = use
        isFromFile = pipelines.has(.collector)
        watch = ConfigurationWatch(Self.files(pipelines, inForce))
    }

    private static func files(
        _ pipelines: PipelineDirectory, _ access: CollectorPipeline.Access
    ) -> [String] {
        ["\(pipelines.path)/collector.yaml"] + access.tokenKeys.map(\.file)
    }

    /// To be called now and then.
    mutating func look() {
        guard let cause = watch.look() else { return }
        let read: CollectorPipeline
        do {
            read = try pipelines.collector(isRequired: isFromFile)
        } catch {
            watch.tryAgain()
            return say("\(error): the keys that are in force stay")
        }
        isFromFile = pipelines.has(.collector)
        let access = read.access
        watch.paths = Self.files(pipelines, access)
        let isOther = access != inForce
        if isOther {
            use(access)
            inForce = access
        }
        if isOther || said != nil || cause == .asked {
            logger.notice(
                "the keys were read again\(isOther ? "" : ", and are the same")",
                metadata: [
                    "producers": "\(Self.list(access.keys.map(\.name)))",
                    "token_keys": "\(Self.list(access.tokenKeys.map(\.id)))",
                ])
        }
        said = nil
        if !read.isSameButForAccess(first) {
            say(
                "\(pipelines.path)/collector.yaml has changed beside its keys: restart to have that in force"
            )
        }
    }

    private mutating func say(_ words: String) {
        if said != words { logger.warning("\(words)") }
        said = words
    }

    private static func list(_ names: [String]) -> String {
        names.isEmpty ? "none" : names.joined(separator: ",")
    }
}
