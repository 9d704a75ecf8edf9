import ConfigurationFiles
import ConfigurationValues
import Foundation
import Program
import Streams
import TestKit
import Testing

@testable import weir

@Suite("weir init", .serialized)
struct InitTests {
    private let place: TemporaryDirectory
    private var directory: String { place.path + "/pipelines" }

    init() throws { place = try TemporaryDirectory() }

    private func write(_ arguments: String...) throws -> PipelineDirectory {
        let command = try InitCommand.parse([directory] + arguments)
        try command.run()
        return PipelineDirectory(directory)
    }

    /// What weir check finds wrong, and what it warns about.
    private func findings(in pipelines: PipelineDirectory) -> (wrong: [String], doubtful: [String])
    {
        var report = CheckReport()
        report.checkServices(pipelines, TopicDirectory(BuiltInPath.topics), log: nil)
        report.checkPartners(pipelines)
        var found: (wrong: [String], doubtful: [String]) = ([], [])
        for finding in report.findings {
            switch finding {
            case .wrong(let text): found.wrong.append(text)
            case .doubtful(let text): found.doubtful.append(text)
            case .right: break
            }
        }
        return found
    }

    @Test("weir check accepts it, and nothing of the demo is in it")
    func accepted() throws {
        let pipelines = try write()
        #expect(findings(in: pipelines) == ([], []))
        let catalog = try pipelines.catalog()
        #expect(catalog.networks.isEmpty && catalog.apps.isEmpty && catalog.campaigns.isEmpty)
        #expect(try pipelines.conversionModels().isEmpty)
        #expect(try pipelines.partners().isEmpty)
        let notifications = try StoreNotificationsFold.rules(in: pipelines)
        #expect(notifications.apps.isEmpty)
        #expect(notifications.roots.count == 1, "Apple's own")
        let everything = try FileManager.default.subpathsOfDirectory(atPath: directory)
            .compactMap { try? String(contentsOfFile: "\(directory)/\($0)", encoding: .utf8) }
            .joined()
        #expect(!everything.contains("shared_secrets: [example"))
    }

    @Test("ids of the options are where programs read them")
    func ids() throws {
        let pipelines = try write(
            "--app", "525463029", "--bundle", "com.example.rides", "--app", "7",
            "--network", "su67r6k2v3.skadnetwork", "--partner", "adjust", "--partner", "singular")
        let found = findings(in: pipelines)
        #expect(found.wrong == [])
        #expect(found.doubtful.count == 2 && found.doubtful.allSatisfy { $0.contains("url") })
        let catalog = try pipelines.catalog()
        #expect(catalog.networks.keys.contains("su67r6k2v3.skadnetwork"))
        #expect(catalog.appName(525_463_029) == "com.example.rides")
        #expect(catalog.appName(7) == "App 7")
        #expect(try pipelines.appsByBundle() == ["com.example.rides": 525_463_029])
        #expect(try StoreNotificationsFold.rules(in: pipelines).apps.count == 1)
        let partners = try pipelines.partners()
        #expect(partners.map(\.name) == ["adjust", "singular"])
        #expect(partners.map(\.delivery.preset) == [.adjust, .singular])
        #expect(partners.allSatisfy { $0.delivery.isOff && $0.delivery.body == nil })
        #expect(
            FileManager.default.fileExists(
                atPath: directory + "/conversion-models/525463029.yaml.example"))
    }

    @Test("every preset is accepted", arguments: Partner.Delivery.Preset.allCases)
    func presets(_ preset: Partner.Delivery.Preset) throws {
        #expect(findings(in: try write("--partner", preset.rawValue)).wrong == [])
    }

    @Test("existing files stay as they are, and a failure leaves nothing behind")
    func existing() throws {
        try place.write("mine", to: "pipelines/bids.yaml")
        #expect {
            try write()
        } throws: {
            ($0 as? CommandError)?.explanation?.contains("changes no files") == true
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["bids.yaml"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == ["pipelines"])
    }

    @Test("topics are written on request, and are read like the built-in ones")
    func topics() throws {
        _ = try write("--topics", place.path + "/topics")
        let names = try TopicDirectory(place.path + "/topics").topics().map(\.name)
        #expect(try names == TopicDirectory(BuiltInPath.topics).topics().map(\.name))
    }

    @Test(
        "a word that cannot be an id is bad usage",
        arguments: [
            ["--app", "0"], ["--bundle", "a: b"], ["--network", "{"], ["--partner", "x"],
        ])
    func usage(_ option: [String]) throws {
        let command = try InitCommand.parse([directory] + option)
        #expect { try command.run() } throws: { ($0 as? CommandError)?.exitCode == 64 }
        #expect(!FileManager.default.fileExists(atPath: directory))
    }
}
