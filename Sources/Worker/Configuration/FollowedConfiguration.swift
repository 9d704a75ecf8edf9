import AggregateStore
import Logging
import Pipelines

/// Follows the configuration while a worker works: takes over the catalog's names, and says when what the fold
/// depends on has changed, which counts from the next start on and from then in an epoch of its own.
struct FollowedConfiguration {
    private let pipelines: PipelineDirectory
    private let logger: Logger
    /// Reads what the fold depends on.
    private let rulesHash: () throws -> String
    /// Takes over a catalog; nil where names are not used.
    private let use: ((Catalog) -> Void)?
    private var names: ConfigurationWatch
    private var rules: ConfigurationWatch
    /// What the fold works with.
    private let hash: String
    /// What was said last, so that it is not said again.
    private var said: [String: String] = [:]

    init(
        _ pipelines: PipelineDirectory, hash: String, logger: Logger,
        rulesHash: @escaping () throws -> String, use: ((Catalog) -> Void)?
    ) {
        self.pipelines = pipelines
        self.hash = hash
        self.logger = logger
        self.rulesHash = rulesHash
        self.use = use
        names = ConfigurationWatch(["\(pipelines.path)/catalog.yaml"])
        rules = ConfigurationWatch([pipelines.path])
    }

    /// To be called now and then.
    mutating func look() {
        if let use, names.look() != nil {
            do {
                use(try pipelines.catalog())
                said["catalog"] = nil
                logger.notice("the catalog's names were read again")
            } catch {
                names.tryAgain()
                say("catalog", "\(error): the names that are in force stay")
            }
        }
        guard rules.look() != nil else { return }
        do {
            if try rulesHash() == hash {
                said["rules"] = nil
            } else {
                say(
                    "rules",
                    "the configuration of the fold has changed, and is not in force yet: restart to fold by it"
                )
            }
        } catch {
            rules.tryAgain()
            say("rules", "\(error): what is in force stays")
        }
    }

    private mutating func say(_ subject: String, _ words: String) {
        guard said.updateValue(words, forKey: subject) != words else { return }
        logger.warning("\(words)")
    }
}
