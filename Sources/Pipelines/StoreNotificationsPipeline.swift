/// How `weir-store-notifications` works: `store-notifications.yaml`. Ids of notifications are remembered
/// forever, so that there is no window.
package struct StoreNotificationsPipeline: Equatable, Sendable {
    /// Where a purchase was made.
    package enum Environment: String, CaseIterable, Sendable {
        /// The App Store.
        case production = "Production"
        /// Apple's test environment.
        case sandbox = "Sandbox"
        /// StoreKit's test environment in Xcode.
        case xcode = "Xcode"
        /// StoreKit's test environment of unit tests.
        case localTesting = "LocalTesting"
    }

    /// A file with a root certificate.
    package struct RootFile: Equatable, Sendable {
        /// The path as it is written, with its place: whoever reads the certificate reports a bad one
        /// with `PositionedText.fault`.
        package let path: PositionedText
        /// What is in the file.
        package let pem: String
    }

    /// An app whose notifications count.
    package struct App: Equatable, Sendable {
        /// The bundle id.
        package let bundleID: String
        /// The App Store id that notifications of production have to name; nil: it is not asked for.
        package let appAppleID: Int64?
        /// The secrets that bodies of version 1 may carry, none empty.
        package let sharedSecrets: [String]
    }

    /// What every worker has.
    package let stream: StreamSettings
    /// Roots that are trusted beside Apple's (`roots`).
    package let roots: [RootFile]
    /// Whose notifications count (`environments`, Production and Sandbox); at least one.
    package let environments: Set<Environment>
    /// The apps (`apps`), no two with one bundle id.
    package let apps: [App]

    /// Reads the file's content; the paths in it are relative to `directory`.
    init(_ node: ConfigurationNode, directory: String) throws(ConfigurationError) {
        if let window = try node.entries().first(where: { $0.key == "dedupe_window_seconds" }) {
            throw window.value.fault(
                .unknownKey,
                "ids of notifications are remembered forever: remove this key"
            )
        }
        let mapping = try node.mapping(StreamSettings.keys + ["roots", "environments", "apps"])
        stream = try StreamSettings(mapping, topic: .storeNotifications)
        var roots: [RootFile] = []
        for element in try mapping["roots"]?.elements() ?? [] {
            let path = try element.positionedText("the path of a PEM file")
            let pem = try element.textOfFile(path.text, in: directory)
            roots.append(RootFile(path: path, pem: pem))
        }
        self.roots = roots
        environments = try Self.environments(mapping["environments"])
        var apps: [App] = []
        for element in try mapping["apps"]?.elements() ?? [] {
            let app = try App(element, directory: directory)
            guard !apps.contains(where: { $0.bundleID.utf8.elementsEqual(app.bundleID.utf8) })
            else {
                throw element.badValue(
                    "bundle_id '\(app.bundleID)' is that of an earlier app: keep one")
            }
            apps.append(app)
        }
        self.apps = apps
    }

    private static func environments(
        _ node: ConfigurationNode?
    ) throws(ConfigurationError) -> Set<Environment> {
        guard let node else { return [.production, .sandbox] }
        var environments: Set<Environment> = []
        for element in try node.elements() {
            environments.insert(try element.word(Environment.self))
        }
        guard !environments.isEmpty else {
            throw node.badValue("is empty: list at least one environment")
        }
        return environments
    }
}

extension StoreNotificationsPipeline.App {
    fileprivate init(
        _ node: ConfigurationNode, directory: String
    ) throws(ConfigurationError) {
        let mapping = try node.mapping([
            "bundle_id", "app_apple_id", "shared_secrets", "shared_secrets_file",
        ])
        bundleID = try mapping.required("bundle_id").name()
        appAppleID = try mapping["app_apple_id"]?.app()
        if let file = mapping["shared_secrets_file"] {
            guard mapping["shared_secrets"] == nil else {
                throw file.badValue("comes together with shared_secrets: keep one of them")
            }
            sharedSecrets = try file.secretsOfFile(in: directory)
        } else {
            sharedSecrets = try mapping["shared_secrets"]?.secrets() ?? []
        }
    }
}

extension ConfigurationNode {
    /// A list of secrets. No error shows what was written in their place.
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

    /// The secrets of a file, one a line; spaces around them and empty lines do not count.
    fileprivate func secretsOfFile(in directory: String) throws(ConfigurationError) -> [String] {
        let path = try positionedText("the path of a file").text
        let secrets = try textOfFile(path, in: directory)
            .split(whereSeparator: \.isNewline)
            .map { line in line.trimmingPrefix(while: \.isWhitespace).withoutSpaceAtEnd }
            .filter { !$0.isEmpty }
        guard !secrets.isEmpty else {
            throw badValue("'\(path)' holds no secret: write one a line")
        }
        return secrets
    }

    /// The text of a file that the configuration names.
    func textOfFile(
        _ path: String, in directory: String
    ) throws(ConfigurationError) -> String {
        let file = path.hasPrefix("/") ? path : "\(directory)/\(path)"
        do {
            return try ConfigurationFile.text(of: file)
        } catch {
            throw fault(.missingFile, "the file '\(file)' \(error.words)")
        }
    }
}

extension Substring {
    fileprivate var withoutSpaceAtEnd: String {
        var text = self
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
