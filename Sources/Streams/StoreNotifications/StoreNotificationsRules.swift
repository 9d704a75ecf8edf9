import ConfigurationValues
import JSON
import Signatures

/// The configuration of the store notifications fold. Its recorded form contains only the fingerprints of roots and the
/// digests of secrets.
package struct StoreNotificationsRules: StreamRules {
    package static let number: Int64 = 3

    /// An app with notifications to count.
    package struct App: Sendable {
        package var bundleID: String
        /// The required App Store id in production; nil to skip the check.
        package var appAppleID: Int64?
        /// The allowed secrets in bodies of version 1, by their form in a store.
        package var secrets: [String: String]
    }

    /// Longer values are rejected.
    package var maxRecordBytes: Int
    package var environments: Set<AppStoreEnvironment>
    /// The trusted roots, including Apple's.
    package var roots: [AppStoreRoot]
    package var apps: [App]

    static let fileKeys: [ConfigurationKey] = [
        .text(
            "roots", "list of paths",
            """
            Root certificates to trust in addition to Apple Root CA - G3, for tests: PEM files with one \
            certificate each.
            """),
        .text(
            "environments",
            "list of \(AppStoreEnvironment.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", "))",
            default: "Production, Sandbox",
            """
            Environments that count. Signatures of Xcode and LocalTesting cannot be verified: list them only \
            for tests.
            """),
        .list(
            "apps", appKeys, "The apps that count. Notifications of other bundles are untrusted."),
    ]

    fileprivate static let appKeys: [ConfigurationKey] = [
        .text("bundle_id", "text", required: true, "The bundle, as in App Store Connect."),
        .text(
            "app_apple_id", "App Store id",
            """
            The id that notifications of version 2 from Production must contain. It is not checked without \
            this key.
            """),
        .text(
            "shared_secrets", "list of texts",
            """
            Secrets of the app, or of all apps. Notifications of version 1 must have one of them as \
            `password`. Without secrets they are untrusted.
            """),
        .text(
            "shared_secrets_file", "path",
            "A file with the secrets, one a line, in place of `shared_secrets`."),
    ]

    /// Reads `store-notifications.yaml`. Throws at the line of a file without a certificate.
    init(_ file: StreamFile) throws(ConfigurationError) {
        maxRecordBytes = file.settings.maxRecordBytes
        roots = [.appleRootCAG3]
        for element in try file.mapping["roots"]?.elements() ?? [] {
            let path = try element.positionedText("the path of a PEM file")
            let pem = try element.textOfFile(path.text, in: file.directory)
            do throws(AppStoreRootFault) {
                roots.append(try AppStoreRoot(pem: pem))
            } catch {
                throw path.fault(error.explanation)
            }
        }
        environments = try file.mapping["environments"]?.environments() ?? [.production, .sandbox]
        apps = []
        for element in try file.mapping["apps"]?.elements() ?? [] {
            let app = try App(element, directory: file.directory)
            guard !apps.contains(where: { $0.bundleID.utf8.elementsEqual(app.bundleID.utf8) })
            else {
                throw element.badValue(
                    "bundle_id '\(app.bundleID)' occurs in an earlier app: keep one")
            }
            apps.append(app)
        }
        apps.sort { $0.bundleID.utf8.lexicographicallyPrecedes($1.bundleID.utf8) }
    }

    package var trust: StoreNotificationsTrust {
        StoreNotificationsTrust(
            apps: apps.map { app in
                StoreNotificationsTrust.App(
                    bundleID: app.bundleID, appAppleID: app.appAppleID,
                    sharedSecrets: app.secrets.values.sorted().map { Array($0.utf8) })
            },
            environments: environments, verifier: AppStoreVerifier(roots: roots))
    }

    package var configuration: FoldConfiguration {
        var json = JSONText()
        json.object { json in
            json.member("stream", StoreNotificationsFold.streamName)
            json.member("rules", Self.number)
            json.member("max_record_bytes", maxRecordBytes)
            json.member("environments", environments.map(\.rawValue).sorted())
            json.member("roots", Set(roots.map(\.fingerprint)).sorted())
            json.objects("apps", apps) { app, json in
                json.member("bundle_id", app.bundleID)
                if let appAppleID = app.appAppleID { json.member("app_apple_id", appAppleID) }
                json.member("shared_secrets_pbkdf2", app.secrets.keys.sorted())
            }
        }
        return FoldConfiguration(text: json.text, dedupeWindowMilliseconds: nil)
    }
}

extension StoreNotificationsRules.App {
    fileprivate init(
        _ node: ConfigurationNode, directory: PipelineDirectory
    ) throws(ConfigurationError) {
        let mapping = try node.mapping(StoreNotificationsRules.appKeys)
        bundleID = try mapping.required("bundle_id").name()
        appAppleID = try mapping["app_apple_id"]?.app()
        var texts: [String] = []
        if let file = mapping["shared_secrets_file"] {
            guard mapping["shared_secrets"] == nil else {
                throw file.badValue("cannot be combined with shared_secrets: keep one of them")
            }
            texts = try file.secretsOfFile(in: directory)
        } else {
            texts = try mapping["shared_secrets"]?.secrets() ?? []
        }
        secrets = [:]
        for text in texts {
            guard let digest = SharedSecretDigest.digest(Array(text.utf8), bundleID: bundleID)
            else { throw node.badValue("not enough memory for the digest of a shared secret") }
            secrets[digest] = text
        }
    }
}

extension ConfigurationNode {
    fileprivate func environments() throws(ConfigurationError) -> Set<AppStoreEnvironment> {
        var environments: Set<AppStoreEnvironment> = []
        for element in try elements() {
            environments.insert(try element.word(AppStoreEnvironment.self))
        }
        guard !environments.isEmpty else {
            throw badValue("is empty: list at least one environment")
        }
        return environments
    }

    /// A list of secrets. Errors do not quote them.
    fileprivate func secrets() throws(ConfigurationError) -> [String] {
        guard isList else { throw fault(.wrongType, "must be a list of secrets") }
        var secrets: [String] = []
        for element in try elements() {
            guard let secret = element.scalarText else {
                throw element.fault(.wrongType, "must be a secret, as text")
            }
            guard !secret.isEmpty else { throw element.badValue("is empty: write the secret") }
            secrets.append(secret)
        }
        return secrets
    }

    /// The secrets of a file, one per line. Spaces around them and empty lines are ignored.
    fileprivate func secretsOfFile(
        in directory: PipelineDirectory
    ) throws(ConfigurationError) -> [String] {
        let path = try positionedText("the path of a file").text
        let secrets = try textOfFile(path, in: directory)
            .split(whereSeparator: \.isNewline)
            .map { line in line.trimmingPrefix(while: \.isWhitespace).withoutSpaceAtEnd }
            .filter { !$0.isEmpty }
        guard !secrets.isEmpty else {
            throw badValue("'\(path)' contains no secret: write one per line")
        }
        return secrets
    }
}

extension Substring {
    fileprivate var withoutSpaceAtEnd: String {
        var text = self
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}

// MARK: Reading the recorded configuration

extension StoreNotificationsRules {
    /// Reads the text of `configuration`. Roots and secrets are looked up by their digests.
    package init(recorded text: String, from source: RuleSource) throws {
        let known: [AppStoreRoot]
        /// Nil: the mask replaces every secret.
        let apps: [App]?
        switch source {
        case .pipelines(let pipelines):
            let stream = StoreNotificationsFold.self
            let present = stream.isConfigured(in: pipelines) ? try stream.rules(in: pipelines) : nil
            known = present?.roots ?? [.appleRootCAG3]
            apps = present?.apps ?? []
        case .masked(let roots):
            known = [.appleRootCAG3] + roots
            apps = nil
        }
        self = try RecordedConfiguration.read(text) {
            configuration throws(RecordedConfigurationFault) in
            try StoreNotificationsRules(recorded: configuration, known: known, apps: apps)
        }
    }

    private init(
        recorded configuration: RecordedConfiguration, known: [AppStoreRoot], apps present: [App]?
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
            try App(recorded: app, present: present)
        }
    }
}

extension StoreNotificationsRules.App {
    fileprivate init(
        recorded app: RecordedConfiguration, present: [StoreNotificationsRules.App]?
    ) throws(RecordedConfigurationFault) {
        bundleID = try app.member("bundle_id").text()
        appAppleID = try app.optional("app_apple_id")?.integer()
        secrets = [:]
        let id = bundleID.utf8
        let known = present?.first { $0.bundleID.utf8.elementsEqual(id) }
        for digest: String in try app.member("shared_secrets_pbkdf2").texts() {
            let secret = present == nil ? RuleSource.maskedSecret : known?.secrets[digest]
            guard let secret else { throw .secretMissing(bundleID: bundleID) }
            secrets[digest] = secret
        }
    }
}
