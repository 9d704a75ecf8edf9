import AggregateStore
import Pipelines
import Streams

/// All that a fold depends on besides the log: as the configuration says it now, or as a store has
/// recorded it.
package protocol FoldRules: Sendable {
    /// The rules as a store records them: the same text for the same rules.
    var configuration: FoldConfiguration { get }

    /// Reads the rules that a store has recorded.
    ///
    /// - Parameter pipelines: the present configuration. What is secret, or too large to be recorded, is
    ///   looked up there by its digest.
    init(recorded text: String, pipelines: PipelineDirectory) throws
}

extension FoldRules {
    /// Reads the rules that a store has recorded, and makes sure that they mean the same now.
    package init(recorded: FoldConfiguration, pipelines: PipelineDirectory) throws {
        try self.init(recorded: recorded.text, pipelines: pipelines)
        guard configuration.hash == recorded.hash else {
            throw RecordedConfigurationFault.otherMeaning
        }
    }
}
