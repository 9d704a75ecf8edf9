import ArgumentParser
import ConfigurationFiles
import ConfigurationValues
import DatabaseFiles
import Foundation
import Program
import Reports
import Wording

struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Writes a configuration to edit.",
        discussion: """
            The comments in each file explain every key. Weir accepts the files as they are: without apps, networks, \
            partners and models of your own it counts postbacks, and decodes no values. The command never changes \
            existing files: the directory must be empty, or not exist.

              weir init
              weir init --app 525463029 --bundle com.example.rides --network com.example --partner adjust
              weir check

            Programs read the first of \(FilesPlace.Kind.pipelines.order).
            """)

    @Argument(
        help: ArgumentHelp("Where to write (default: pipelines).", valueName: "dir"),
        completion: .directory)
    var directory = "pipelines"
    @Option(
        help: ArgumentHelp(
            "An app's id in the App Store; may be given several times.", valueName: "id"))
    var app: [Int64] = []
    @Option(
        help: ArgumentHelp(
            "Its bundle id. The first one belongs to the first --app, and so on.", valueName: "id"))
    var bundle: [String] = []
    @Option(
        help: ArgumentHelp(
            "An ad network's id, such as su67r6k2v3.skadnetwork; may be given several times.",
            valueName: "id"))
    var network: [String] = []
    @Option(
        help: ArgumentHelp(
            "A partner that gets the fields of this preset: \(Self.presets). It is off until you write its url.",
            valueName: "preset"),
        completion: .list(Partner.Delivery.Preset.allCases.map(\.rawValue)))
    var partner: [String] = []
    @Option(
        help: ArgumentHelp(
            "Also write the descriptions of topics here, to change partitions and retention.",
            valueName: "dir"),
        completion: .directory)
    var topics: String?

    private static let presets = Partner.Delivery.Preset.allCases.map(\.rawValue)
        .joined(separator: ", ")

    func run() throws {
        let draft = try draft()
        let files = try draft.files()
        try requireNoFiles(in: directory)
        if let topics { try requireNoFiles(in: topics) }
        try write(files, to: directory) { written in
            if let fault = PipelineDirectory(written).check().first { throw fault }
        }
        if let topics {
            let described = BuiltInFiles.all(in: "topics").map { ($0.path, $0.text) }
            try write(Dictionary(uniqueKeysWithValues: described), to: topics) { _ in }
        }
        try BufferedOutput.print(summary(files.count, draft.partners))
    }

    private func draft() throws(CommandError) -> ConfigurationDraft {
        if let wrong = app.first(where: { $0 < 1 }) {
            throw .usage("--app \(wrong) is not an App Store id: write a number such as 525463029")
        }
        for (option, ids) in [("--bundle", bundle), ("--network", network)] {
            for id in ids where id.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9._-]*/) == nil {
                throw .usage(
                    "\(option) '\(id)' is not an id: write letters, digits, dots and dashes")
            }
        }
        var draft = ConfigurationDraft()
        draft.apps = (0..<max(app.count, bundle.count)).map { index in
            ConfigurationDraft.App(
                id: index < app.count ? app[index] : nil,
                bundleID: index < bundle.count ? bundle[index] : nil)
        }
        draft.networks = network
        for name in partner {
            guard let preset = Partner.Delivery.Preset(rawValue: name) else {
                throw .usage("no preset '\(name)': write one of \(Self.presets)")
            }
            draft.partners.append(preset)
        }
        return draft
    }

    private func requireNoFiles(in directory: String) throws(CommandError) {
        guard FilesPlace.isThere(directory) || FileManager.default.fileExists(atPath: directory)
        else { return }
        let names = try? FileManager.default.contentsOfDirectory(atPath: directory)
        guard names?.isEmpty != true else { return }
        throw .failure(
            "\(directory) exists and is not an empty directory: weir init changes no files. Give another "
                + "directory, or move this one away")
    }

    /// Writes all files beside the directory, checks them there, and moves them: the directory has all of them or none.
    private func write(
        _ files: [String: String], to directory: String, check: (String) throws -> Void
    ) throws {
        let manager = FileManager.default
        let draft = directory + ".\(UUID().uuidString.prefix(8))"
        do {
            for (path, text) in files {
                let url = URL(fileURLWithPath: draft).appendingPathComponent(path)
                try manager.createDirectory(
                    at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(text.utf8).write(to: url)
            }
            try check(draft)
            // Replaces an empty directory, and nothing else.
            guard rename(draft, directory) == 0 else {
                throw CommandError.failure(
                    "\(directory) cannot be created (\(String(cString: strerror(errno)))): give another directory"
                )
            }
        } catch {
            try? manager.removeItem(atPath: draft)
            if error is CommandError || error is ConfigurationError { throw error }
            throw CommandError.failure(
                "\(directory) cannot be written: \(SystemRefusal.explanation(of: error))")
        }
    }

    private func summary(_ count: Int, _ partners: [Partner.Delivery.Preset]) -> String {
        let option = directory == "pipelines" ? "" : " --pipelines \(directory)"
        let topics = topics.map { $0 == "topics" ? "" : " --topics \($0)" } ?? ""
        let urls = partners.map {
            "  write the url of \($0.rawValue) into \(directory)/partners/\($0.rawValue).yaml\n"
        }
        return """
            wrote \(counted(count, "file")) into \(directory). Next:
            \(urls.joined())  weir check\(option)\(topics)
              weir up\(option)\(topics)

            """
    }
}
