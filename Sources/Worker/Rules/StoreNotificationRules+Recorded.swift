import Attestation
import Pipelines
import Streams

extension StoreNotificationRules {
    /// Reads what `configuration` wrote. Roots and secrets are looked up in the present configuration.
    package init(recorded text: String, pipelines: PipelineDirectory) throws {
        let present =
            pipelines.has(.storeNotifications)
            ? try StoreNotificationRules(pipelines.storeNotifications()) : nil
        self = try RecordedConfiguration.read(text) {
            configuration throws(RecordedConfigurationFault) in
            try StoreNotificationRules(recorded: configuration, present: present)
        }
    }

    private init(
        recorded configuration: RecordedConfiguration, present: StoreNotificationRules?
    ) throws(RecordedConfigurationFault) {
        maxRecordBytes = Int(try configuration.member("max_record_bytes").integer())
        environments = Set(
            try configuration.member("environments").elements {
                name throws(RecordedConfigurationFault) in
                guard let environment = AppStoreEnvironment(rawValue: try name.text()) else {
                    throw name.fault
                }
                return environment
            })
        let known = present?.roots ?? [.appleRootCAG3]
        roots = try configuration.member("roots").elements {
            text throws(RecordedConfigurationFault) in
            let fingerprint = try text.text()
            guard let root = known.first(where: { $0.fingerprint == fingerprint }) else {
                throw .rootMissing(fingerprint: fingerprint)
            }
            return root
        }
        apps = try configuration.member("apps").elements {
            app throws(RecordedConfigurationFault) in
            try App(recorded: app, present: present?.apps ?? [])
        }
    }
}

extension StoreNotificationRules.App {
    fileprivate init(
        recorded app: RecordedConfiguration, present: [StoreNotificationRules.App]
    ) throws(RecordedConfigurationFault) {
        let bundleID = try app.member("bundle_id").text()
        let known = present.first { $0.bundleID.utf8.elementsEqual(bundleID.utf8) }
        var secrets: [String: String] = [:]
        for digest: String in try app.member("shared_secrets_pbkdf2").texts() {
            guard let secret = known?.secrets[digest] else {
                throw .secretMissing(bundleID: bundleID)
            }
            secrets[digest] = secret
        }
        self.init(
            bundleID: bundleID, appAppleID: try app.optional("app_apple_id")?.integer(),
            secrets: secrets)
    }
}
