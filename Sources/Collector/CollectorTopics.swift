import EventLog
import Logging
import Pipelines

/// The topics that the collector appends to.
package enum CollectorTopics {
    /// As `topics/` describes them where it is shipped.
    private static let partitionCount: Int32 = 4

    /// Creates the topics that an embedded log does not have yet. Those of Kafka are an operator's
    /// (`weir topics apply`): a missing one is said, and what is sent to it is 503.
    package static func createMissing(
        in log: any LogBackend, logger: Logger
    ) throws(LogError) {
        let known = try log.topics().map(\.name)
        for topic in names where !known.contains(topic) {
            if log is EmbeddedLog {
                try log.createTopic(topic, partitionCount: partitionCount)
            } else {
                logger.warning("there is no topic '\(topic)': create it with weir topics apply")
            }
        }
    }

    /// Their names, which are not configured: workers may be told to read others.
    static let names = [
        PipelineStream.bids, .impressions, .overlayClicks, .postbacks, .storeNotifications,
        .conversionUpdates,
    ].map(\.rawValue)
}
