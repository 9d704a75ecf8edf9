import ConfigurationValues
import Logging
import Program
import Store

/// Follows the configuration while a worker runs. It applies the catalog's names, and reports a change of the fold's
/// rules. Such a change takes effect at the next start, in a new epoch.
package struct FollowedConfiguration {
    private let pipelines: PipelineDirectory
    private let logger: Logger
    /// Reads the fold's rules: their hash, and the differences from the rules in use.
    private let rulesNow: () throws -> (hash: String, differences: [String])
    /// Applies a catalog; nil if names are not used.
    private let use: ((Catalog) -> Void)?
    private var names: ConfigurationWatch
    private var rules: ConfigurationWatch
    /// The hash of the rules in use.
    private let hash: String
    /// Whether the names come from a file, so that a missing file is a mistake.
    private var hasNames: Bool
    private let namesFault = StandingFault()
    private let rulesFault = StandingFault()
    /// The last reported difference; nil for none.
    private var reported: [String]?

    init(
        _ pipelines: PipelineDirectory, hash: String, logger: Logger,
        rulesNow: @escaping () throws -> (hash: String, differences: [String]),
        use: ((Catalog) -> Void)?
    ) {
        self.pipelines = pipelines
        self.hash = hash
        self.logger = logger
        self.rulesNow = rulesNow
        self.use = use
        hasNames = pipelines.has(.catalog)
        names = ConfigurationWatch(["\(pipelines.path)/catalog.yaml"])
        rules = ConfigurationWatch([pipelines.path])
    }

    /// Call it periodically.
    mutating func look() {
        if let use, names.look() != nil {
            do {
                use(try pipelines.catalog(isRequired: hasNames))
                hasNames = pipelines.has(.catalog)
                namesFault.clear()
                logger.notice("the names of the catalog were reloaded")
            } catch {
                names.tryAgain()
                warn(error, namesFault)
            }
        }
        guard rules.look() != nil else { return }
        do {
            let (present, differences) = try rulesNow()
            rulesFault.clear()
            if present != hash, reported != differences {
                let listed = differences.isEmpty ? "" : " (\(differences.joined(separator: ", ")))"
                logger.warning(
                    "the configuration of the fold has changed\(listed): restart to apply it"
                )
            }
            reported = present == hash ? nil : differences
        } catch {
            rules.tryAgain()
            reported = nil
            warn(error, rulesFault)
        }
    }

    private func warn(_ error: any Error, _ fault: StandingFault) {
        if fault.isNews("\(error)") {
            logger.warning("\(error): the previous configuration stays in force")
        }
    }
}
