import AggregateStore
import Attestation
import Pipelines
import Streams

/// What the fold of store notifications depends on. What is recorded of it has fingerprints of roots and
/// digests of secrets only.
package struct StoreNotificationRules: FoldRules {
    /// An app whose notifications count.
    package struct App: Sendable {
        /// The bundle id.
        package var bundleID: String
        /// The App Store id that production has to name; nil when it is not asked for.
        package var appAppleID: Int64?
        /// The secrets that bodies of version 1 may carry, by what a store may keep of them.
        package var secrets: [String: String]
    }

    /// A longer value is refused.
    package var maxRecordBytes: Int
    /// Whose notifications count.
    package var environments: Set<AppStoreEnvironment>
    /// The roots that are trusted, Apple's among them.
    package var roots: [AppStoreRoot]
    /// The apps, in bytewise order of their bundle ids.
    package var apps: [App]

    /// Takes what configuration says.
    package init(_ pipeline: StoreNotificationsPipeline) throws {
        maxRecordBytes = pipeline.stream.maxRecordBytes
        environments = Set(pipeline.environments.map { AppStoreEnvironment($0) })
        roots = try [AppStoreRoot](configured: pipeline.roots)
        apps = try pipeline.apps.map { app in
            App(
                bundleID: app.bundleID, appAppleID: app.appAppleID,
                secrets: try Self.digests(of: app.sharedSecrets, bundleID: app.bundleID))
        }.sorted { $0.bundleID.utf8.lexicographicallyPrecedes($1.bundleID.utf8) }
    }

    private static func digests(
        of secrets: [String], bundleID: String
    ) throws(WorkerError) -> [String: String] {
        var digests: [String: String] = [:]
        for secret in secrets {
            guard
                let digest = SharedSecretDigest.digest(Array(secret.utf8), bundleID: bundleID)
            else { throw .unexpected("no memory for the digest of a shared secret") }
            digests[digest] = secret
        }
        return digests
    }

    /// Whom to trust.
    package var trust: StoreNotificationTrust {
        StoreNotificationTrust(
            apps: apps.map { app in
                StoreNotificationTrust.App(
                    bundleID: app.bundleID, appAppleID: app.appAppleID,
                    sharedSecrets: app.secrets.values.sorted().map { Array($0.utf8) })
            },
            environments: environments, verifier: AppStoreVerifier(roots: roots))
    }

    /// The rules as a store records them.
    package var configuration: FoldConfiguration {
        var json = JSONText()
        json.object { json in
            json.name("stream")
            json.string(StoreNotificationsFold.streamName)
            json.name("rules")
            json.raw(2)
            json.name("max_record_bytes")
            json.raw(maxRecordBytes)
            json.name("environments")
            Self.write(environments.map(\.rawValue).sorted(), to: &json)
            json.name("roots")
            Self.write(Set(roots.map(\.fingerprint)).sorted(), to: &json)
            json.name("apps")
            json.array { json in for app in apps { Self.write(app, to: &json) } }
        }
        return FoldConfiguration(text: json.text, dedupeWindowMilliseconds: nil)
    }

    private static func write(_ app: App, to json: inout JSONText) {
        json.object { json in
            json.name("bundle_id")
            json.string(app.bundleID)
            if let appAppleID = app.appAppleID {
                json.name("app_apple_id")
                json.raw(appAppleID)
            }
            json.name("shared_secrets_pbkdf2")
            write(app.secrets.keys.sorted(), to: &json)
        }
    }

    private static func write(_ texts: [String], to json: inout JSONText) {
        json.array { json in for text in texts { json.string(text) } }
    }
}

extension [AppStoreRoot] {
    /// Apple's root and those of configuration. Throws at the line of a file that holds none.
    package init(
        configured: [StoreNotificationsPipeline.RootFile]
    ) throws(ConfigurationError) {
        self = [.appleRootCAG3]
        for file in configured {
            do throws(AppStoreRootFault) {
                append(try AppStoreRoot(pem: file.pem))
            } catch {
                throw file.path.fault(error.words)
            }
        }
    }
}

extension AppStoreEnvironment {
    /// The environment that configuration names.
    package init(_ configured: StoreNotificationsPipeline.Environment) {
        self =
            switch configured {
            case .production: .production
            case .sandbox: .sandbox
            case .xcode: .xcode
            case .localTesting: .localTesting
            }
    }
}
