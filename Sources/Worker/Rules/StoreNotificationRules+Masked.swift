import AggregateStore
import Attestation
import Streams

extension StoreNotificationRules {
    /// What stands for a secret in records whose secrets are masked.
    package static let maskedSecret = "***"

    /// Reads the rules that a store has recorded, for records whose secrets are masked: what stands for a
    /// secret is taken for each of them.
    ///
    /// - Parameter roots: the certificates of which the rules have fingerprints, beside Apple's.
    package init(masked recorded: FoldConfiguration, roots: [AppStoreRoot]) throws {
        self = try RecordedConfiguration.read(recorded.text) {
            configuration throws(RecordedConfigurationFault) in
            try StoreNotificationRules(
                masked: configuration, known: [.appleRootCAG3] + roots)
        }
        guard configuration.hash == recorded.hash else {
            throw RecordedConfigurationFault.otherMeaning
        }
    }

    private init(
        masked configuration: RecordedConfiguration, known: [AppStoreRoot]
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
            var secrets: [String: String] = [:]
            let digests = try app.member("shared_secrets_pbkdf2").elements {
                digest throws(RecordedConfigurationFault) in try digest.text()
            }
            for digest in digests { secrets[digest] = Self.maskedSecret }
            return App(
                bundleID: try app.member("bundle_id").text(),
                appAppleID: try app.optional("app_apple_id")?.integer(), secrets: secrets)
        }
    }
}
