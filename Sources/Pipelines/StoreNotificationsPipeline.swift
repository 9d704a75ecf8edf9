/// `store-notifications.yaml`. Ids of notifications are remembered forever, so there is no window.
package struct StoreNotificationsPipeline: Equatable, Sendable {
    /// https://developer.apple.com/documentation/appstoreservernotifications/environment
    package enum Environment: String, CaseIterable, Sendable {
        case production = "Production"
        case sandbox = "Sandbox"
        case xcode = "Xcode"
        case localTesting = "LocalTesting"
    }

    package struct RootFile: Equatable, Sendable {
        /// The path as it is written. The module that parses the certificate reports a bad one with
        /// `PositionedText.fault`.
        package let path: PositionedText
        package let pem: String
    }

    package struct App: Equatable, Sendable {
        package let bundleID: String
        /// The App Store id that notifications of production must name; nil: any.
        package let appAppleID: Int64?
        /// The secrets that bodies of version 1 may carry; none is empty.
        package let sharedSecrets: [String]
    }

    package let stream: StreamSettings
    /// `roots`: roots that are trusted in addition to Apple's.
    package let roots: [RootFile]
    /// `environments`: those whose notifications count, at least one; by default Production and
    /// Sandbox.
    package let environments: Set<Environment>
    /// No two have the same bundle id.
    package let apps: [App]

    /// Paths in the file are relative to `directory`.
    init(_ node: ConfigurationNode, directory: String) throws(ConfigurationError) {
        if let window = try node.entries().first(where: { $0.key == "dedupe_window_seconds" }) {
            throw window.value.fault(
                .unknownKey, "ids of notifications are remembered forever: remove this key")
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
    fileprivate init(_ node: ConfigurationNode, directory: String) throws(ConfigurationError) {
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
    /// A list of secrets. No error quotes what was written.
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

    /// The secrets of a file, one a line. Spaces around them and empty lines are ignored.
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

    func textOfFile(_ path: String, in directory: String) throws(ConfigurationError) -> String {
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
