import Attestation
import Pipelines
import Streams
import Worker

extension NotificationTrust {
    /// What the configuration says; without a `store-notifications.yaml`, Apple's root alone.
    init(configured directory: PipelineDirectory) throws(ConfigurationError) {
        guard directory.has(.storeNotifications) else {
            self.init()
            return
        }
        let pipeline = try directory.storeNotifications()
        self.init(
            roots: try [AppStoreRoot](configured: pipeline.roots),
            apps: pipeline.apps.map {
                App(
                    bundleID: $0.bundleID, appAppleID: $0.appAppleID,
                    sharedSecrets: $0.sharedSecrets)
            },
            environments: Set(pipeline.environments.map { AppStoreEnvironment($0) }))
    }
}
