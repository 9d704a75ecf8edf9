import AggregateStore
import ArgumentParser
import Attestation
import Foundation
import Pipelines
import Streams

/// `weir-store-notifications`: verifies and folds the topic `store-notifications`.
public struct StoreNotificationsWorker: WorkerProgram {
    /// Name of the program.
    public static let programName = "weir-store-notifications"

    /// Help.
    public static let configuration = CommandConfiguration(
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
            """)

    /// What every worker can be told.
    @OptionGroup public var options: WorkerOptions

    /// Options that were not given.
    public init() {}

    /// Reads `store-notifications.yaml`.
    public static func streamSettings(of pipelines: PipelineDirectory) throws -> StreamSettings {
        try pipelines.storeNotifications().stream
    }

    /// Makes the fold that `store-notifications.yaml` describes.
    public static func makeFold(
        pipelines: PipelineDirectory, settings: StreamSettings, store: AggregateStore
    ) throws -> (fold: StoreNotificationsFold, configuration: FoldConfiguration) {
        let pipeline = try pipelines.storeNotifications()
        let roots = try [AppStoreRoot](configured: pipeline.roots)
        let trust = StoreNotificationTrust(pipeline, roots: roots)
        let threadCount = max(1, ProcessInfo.processInfo.activeProcessorCount)
        let decoders = try (0..<threadCount).map { _ in
            guard
                let decoder = StoreNotificationDecoder(
                    trust: trust, maxRecordBytes: settings.maxRecordBytes)
            else { throw WorkerError.unexpected("no memory for a JSON parser") }
            return decoder
        }
        let fold = StoreNotificationsFold(
            topic: settings.topic, decoders: decoders,
            memory: try StoredNotifications(store: store))
        let text = try StoreNotificationsConfigurationText(pipeline, roots: roots).text
        return (fold, FoldConfiguration(text: text, dedupeWindowMilliseconds: nil))
    }
}

extension [AppStoreRoot] {
    /// Apple's root and those of configuration. Throws at the line of a file that holds none.
    public init(
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
    public init(_ configured: StoreNotificationsPipeline.Environment) {
        self =
            switch configured {
            case .production: .production
            case .sandbox: .sandbox
            case .xcode: .xcode
            case .localTesting: .localTesting
            }
    }
}

extension StoreNotificationTrust {
    /// What configuration says.
    init(_ pipeline: StoreNotificationsPipeline, roots: [AppStoreRoot]) {
        self.init(
            apps: pipeline.apps.map { app in
                App(
                    bundleID: app.bundleID, appAppleID: app.appAppleID,
                    sharedSecrets: app.sharedSecrets.map { Array($0.utf8) })
            },
            environments: Set(pipeline.environments.map { AppStoreEnvironment($0) }),
            verifier: AppStoreVerifier(roots: roots))
    }
}

/// All that folding notifications depends on, as one deterministic text. Of secrets it holds digests.
struct StoreNotificationsConfigurationText {
    private(set) var text = ""

    init(_ pipeline: StoreNotificationsPipeline, roots: [AppStoreRoot]) throws(WorkerError) {
        var apps: [(app: StoreNotificationsPipeline.App, secrets: [String])] = []
        for app in pipeline.apps {
            var secrets: [String] = []
            for secret in app.sharedSecrets {
                guard
                    let digest = SharedSecretDigest.digest(
                        Array(secret.utf8), bundleID: app.bundleID)
                else { throw .unexpected("no memory for the digest of a shared secret") }
                secrets.append(digest)
            }
            apps.append((app, Set(secrets).sorted()))
        }
        apps.sort { $0.app.bundleID.utf8.lexicographicallyPrecedes($1.app.bundleID.utf8) }
        var json = JSONText()
        json.object { json in
            json.name("stream")
            json.string(StoreNotificationsFold.streamName)
            json.name("rules")
            json.raw(1)
            json.name("max_record_bytes")
            json.raw(pipeline.stream.maxRecordBytes)
            json.name("environments")
            Self.write(pipeline.environments.map(\.rawValue).sorted(), to: &json)
            json.name("roots")
            Self.write(Set(roots.map(\.fingerprint)).sorted(), to: &json)
            json.name("apps")
            json.array { json in
                for (app, secrets) in apps { Self.write(app, secrets, to: &json) }
            }
        }
        text = json.text
    }

    private static func write(
        _ app: StoreNotificationsPipeline.App, _ secrets: [String], to json: inout JSONText
    ) {
        json.object { json in
            json.name("bundle_id")
            json.string(app.bundleID)
            if let appAppleID = app.appAppleID {
                json.name("app_apple_id")
                json.raw(appAppleID)
            }
            json.name("shared_secrets_pbkdf2")
            write(secrets, to: &json)
        }
    }

    private static func write(_ texts: [String], to json: inout JSONText) {
        json.array { json in for text in texts { json.string(text) } }
    }
}
