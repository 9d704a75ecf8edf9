import ConfigurationValues
import Logging
import Program
import Store

/// Follows the configuration while a worker works: takes over the catalog's names, and says when what the fold
/// depends on has changed, which counts from the next start on and from then in an epoch of its own.
package struct FollowedConfiguration {
    private let pipelines: PipelineDirectory
    private let logger: Logger
    /// Reads what the fold depends on: its hash, and what differs from what the fold works with.
    private let rulesNow: () throws -> (hash: String, differences: [String])
    /// Takes over a catalog; nil where names are not used.
    private let use: ((Catalog) -> Void)?
    private var names: ConfigurationWatch
    private var rules: ConfigurationWatch
    /// What the fold works with.
    private let hash: String
    /// Whether the names are from a file, so that a file that is gone is a mistake.
    private var hasNames: Bool
    private let namesFault = StandingFault()
    private let rulesFault = StandingFault()
    /// The difference that was reported last; nil for none.
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

    /// To be called now and then.
    mutating func look() {
        if let use, names.look() != nil {
            do {
                use(try pipelines.catalog(isRequired: hasNames))
                hasNames = pipelines.has(.catalog)
                namesFault.clear()
                logger.notice("the catalog's names were read again")
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
                    "the configuration of the fold has changed\(listed), and is not in force yet: restart to fold by it"
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
        if fault.isNews("\(error)") { logger.warning("\(error): what is in force stays") }
    }
}
