import ConfigurationFiles
import ConfigurationValues
import Foundation
import Program

/// A configuration to edit: the built-in one with its comments, without its apps, models and certificates, and
/// with the user's ids.
struct ConfigurationDraft {
    struct App: Equatable {
        /// Its id in the App Store; nil if only its bundle id is known.
        var id: Int64?
        var bundleID: String?
    }

    var apps: [App] = []
    var networks: [String] = []
    var partners: [Partner.Delivery.Preset] = []

    /// The files by path within the directory.
    func files() throws(CommandError) -> [String: String] {
        var files: [String: String] = [:]
        for (path, text) in BuiltInFiles.all(in: "pipelines") where !Self.isOfExample(path) {
            files[path] = text
        }
        try edit("catalog.yaml", in: &files, editCatalog)
        try edit("store-notifications.yaml", in: &files, editStoreNotifications)
        let sample = "partners/example-network.yaml"
        for preset in partners {
            var file = files
            try edit(sample, in: &file) { draft throws(CommandError) in
                try editPartner(preset, &draft)
            }
            files["partners/\(preset.rawValue).yaml"] = file[sample]
        }
        files[sample] = nil
        addSampleModel(to: &files)
        return files
    }

    /// Example models would decode values of other apps, and the example's certificate would be trusted.
    private static func isOfExample(_ path: String) -> Bool {
        path.hasPrefix("conversion-models/") || path.hasPrefix("roots/")
    }

    private func edit(
        _ path: String, in files: inout [String: String],
        _ change: (inout YAMLDraft) throws(CommandError) -> Void
    ) throws(CommandError) {
        var draft = YAMLDraft(file: path, text: files[path] ?? "")
        try change(&draft)
        files[path] = draft.text
    }

    private func editCatalog(_ draft: inout YAMLDraft) throws(CommandError) {
        try draft.set("networks", networks.map { "\($0): \($0)" }, empty: "{}")
        try draft.set(
            "apps",
            apps.compactMap { app in
                guard let id = app.id else { return nil }
                guard let bundle = app.bundleID else { return "\(id): App \(id)" }
                return "\(id): {name: \(bundle), bundle_id: \(bundle)}"
            }, empty: "{}")
        let (network, app) = (networks.first ?? "com.example", apps.first?.id ?? 525_463_029)
        try draft.set("campaigns", [], empty: "[]")
        draft.text += """
            #   - name: Launch, video
            #     network: \(network)
            #     app: \(app)
            #     source_identifier: "5239"

            """
    }

    private func editStoreNotifications(_ draft: inout YAMLDraft) throws(CommandError) {
        try draft.set("roots", [], empty: "[]")
        try draft.set(
            "apps",
            apps.compactMap { app in
                guard let bundle = app.bundleID else { return nil }
                let id = app.id.map { "\n    app_apple_id: \($0)" } ?? ""
                return
                    "- bundle_id: \(bundle)\(id)\n    # shared_secrets_file: secrets/\(bundle)"
            }, empty: "[]")
    }

    private func editPartner(
        _ preset: Partner.Delivery.Preset, _ draft: inout YAMLDraft
    ) throws(CommandError) {
        draft.text = draft.text.replacing("example-network", with: preset.rawValue)
        let ids = apps.compactMap(\.id).map { "\($0)" }
        let filters = [("networks", networks), ("apps", ids)].filter { !$0.1.isEmpty }
        try draft.set(
            "filter", filters.map { "\($0): [\($1.joined(separator: ", "))]" }, empty: "{}")
        try draft.replaceLine("  # preset: adjust", with: "  preset: \(preset.rawValue)")
        // With a preset the body is a form.
        try draft.replaceLine("  body: json", with: "  # body: json")
    }

    /// A model to edit. Its name ends so that nothing reads it.
    private func addSampleModel(to files: inout [String: String]) {
        let example = "525463029"
        let models = BuiltInFiles.all(in: "pipelines/conversion-models")
        guard let text = models.first(where: { $0.path == "\(example).yaml" })?.text else { return }
        let app = apps.lazy.compactMap(\.id).first.map { "\($0)" } ?? example
        files["conversion-models/\(app).yaml.example"] =
            "# To use this example, edit it and remove .example from its name.\n#\n"
            + text.replacing(example, with: app)
    }
}

/// The text of a YAML file, with other values for some keys at its top. Comments above the keys stay.
struct YAMLDraft {
    let file: String
    var text: String

    /// Replaces the value of a key: its line and the indented lines that follow.
    ///
    /// - Parameter empty: the value without elements.
    mutating func set(
        _ key: String, _ elements: [String], empty: String
    ) throws(CommandError) {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard let start = lines.firstIndex(where: { $0.hasPrefix("\(key):") }) else {
            throw missing("\(key):")
        }
        let rest = lines[(start + 1)...]
        let end = rest.firstIndex { !$0.hasPrefix(" ") } ?? lines.endIndex
        let value =
            elements.isEmpty
            ? ["\(key): \(empty)"] : ["\(key):"] + elements.map { "  \($0)" }
        lines.replaceSubrange(start..<end, with: value)
        text = lines.joined(separator: "\n")
    }

    mutating func replaceLine(_ line: String, with other: String) throws(CommandError) {
        guard text.contains("\n\(line)\n") else { throw missing(line) }
        text = text.replacing("\n\(line)\n", with: "\n\(other)\n", maxReplacements: 1)
    }

    private func missing(_ line: String) -> CommandError {
        .failure("the built-in \(file) has no line '\(line)': report this fault of Weir")
    }
}
