import AggregateStore
import ArgumentParser
import Monitoring
import Pipelines
import Streams

/// `weir-store-notifications`: verifies and folds the topic `store-notifications`.
package struct StoreNotificationsWorker: WorkerProgram {
    /// Name of the program.
    package static let programName = "weir-store-notifications"

    /// Help.
    package static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "Verifies the App Store's notifications and folds them.",
        discussion: """
            Counts App Store Server Notifications of versions 1 and 2, and receipts that an operator \
            publishes, in store-notifications.sqlite. What does not verify is counted as untrusted, kept, \
            and touches nothing else. store-notifications.yaml names the apps. Stop it at any time: \
            it goes on where it was.

              weir publish --topic store-notifications notifications.ndjson
              weir-store-notifications --until-end
              weir dump store-notifications --by day,product_id
            """,
        version: WeirVersion.current)

    /// What every worker can be told.
    @OptionGroup package var options: WorkerOptions

    /// Options that were not given.
    package init() {}

    /// Reads `store-notifications.yaml`.
    package static func streamSettings(of pipelines: PipelineDirectory) throws -> StreamSettings {
        try pipelines.storeNotifications().stream
    }

    /// Reads what `store-notifications.yaml` says.
    package static func rules(of pipelines: PipelineDirectory) throws -> StoreNotificationRules {
        try StoreNotificationRules(pipelines.storeNotifications())
    }

    /// Makes the fold over the notifications that the store remembers.
    package static func makeFold(
        _ rules: StoreNotificationRules, topic: String, store: AggregateStore, threadCount: Int
    ) throws -> StoreNotificationsFold {
        try makeFold(
            rules, topic: topic, memory: store,
            threadCount: threadCount)
    }

    /// Makes the fold over any memory.
    package static func makeFold(
        _ rules: StoreNotificationRules, topic: String, memory: any FoldMemory,
        threadCount: Int
    ) throws -> StoreNotificationsFold {
        let trust = rules.trust
        let decoders = try (0..<max(1, threadCount)).map { _ in
            guard
                let decoder = StoreNotificationDecoder(
                    trust: trust, maxRecordBytes: rules.maxRecordBytes)
            else { throw WorkerError.unexpected("no memory for a JSON parser") }
            return decoder
        }
        return StoreNotificationsFold(topic: topic, decoders: decoders, memory: memory)
    }
}
