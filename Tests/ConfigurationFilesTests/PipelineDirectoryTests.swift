import ConfigurationFiles
import ConfigurationValues
import Foundation
import Streams
import Testing

@Suite("The pipelines directory")
struct PipelineDirectoryTests {
    private let partner = """
        name: NAME
        trust: [valid]
        delivery: {url: "https://example.com"}
        """
    private let model = """
        app: APP
        versions:
          - {id: one, effective_from: 2026-01-01T00:00:00Z, currency: USD, fine: {fields: []}}
        """

    @Test("a worker's missing file is an error that says where to take it from")
    func missingFile() throws {
        let pipelines = try TemporaryPipelines()
        #expect(
            pipelines.fault { directory throws(ConfigurationError) in try directory.bids() }
                == "bids.yaml: does not exist: copy the file that Weir ships as pipelines/bids.yaml"
        )
        #expect(
            pipelines.fault { directory throws(ConfigurationError) in try directory.postbacks() }
                == "postbacks.yaml: does not exist:"
                + " copy the file that Weir ships as pipelines/postbacks.yaml")
    }

    @Test("a missing directory is an error for everything that is read from it")
    func missingDirectory() {
        let directory = PipelineDirectory("/nowhere/pipelines")
        let fault = ConfigurationError(
            kind: .missingFile, file: "/nowhere/pipelines",
            explanation: "is not a directory: give --pipelines the directory of the configuration")
        #expect(throws: fault) { try directory.bids() }
        #expect(throws: fault) { try directory.catalog() }
        #expect(throws: fault) { try directory.conversionModels() }
        #expect(throws: fault) { try directory.partners() }
        #expect(directory.check() == [fault])
    }

    @Test("catalog, models and partners may be absent")
    func absent() throws {
        let pipelines = try TemporaryPipelines()
        #expect(try pipelines.read { try $0.catalog().campaigns } == [])
        #expect(try pipelines.read { try $0.conversionModels() } == [])
        #expect(try pipelines.read { try $0.partners() } == [])
    }

    @Test("a byte order mark before the text of a file is skipped")
    func byteOrderMark() throws {
        let plain = "campaigns: [{name: a, network: n, app: 1, campaign_id: 5}]\n"
        let pipelines = try TemporaryPipelines(["catalog.yaml": "\u{FEFF}" + plain])
        #expect(try pipelines.read { try $0.catalog().campaigns }.map(\.name) == ["a"])
    }

    @Test("models come by ascending app, partners by name bytewise")
    func order() throws {
        var files: [String: String] = [:]
        for app in ["10", "9", "525463029"] {
            files["conversion-models/\(app).yaml"] = model.replacing("APP", with: app)
        }
        for name in ["b", "a-b", "a1", "a"] {
            files["partners/\(name).yaml"] = partner.replacing("NAME", with: name)
        }
        let pipelines = try TemporaryPipelines(files)
        #expect(
            try pipelines.read { try $0.conversionModels() }.map(\.app) == [9, 10, 525_463_029])
        #expect(try pipelines.read { try $0.partners() }.map(\.name) == ["a", "a-b", "a1", "b"])
    }

    @Test("a YAML file that nothing reads stops a worker; tests, hidden and other files do not")
    func unknownFiles() throws {
        let pipelines = try TemporaryPipelines([
            "bids.yaml": "", "impressions.yaml": "not: [read", "README.md": "words",
            "bids.test.yaml": "cases: []", ".hidden.yaml": "a: 1", "overlay-clicks.yaml": "",
            "store-notifications.yaml": "", "conversion-updates.yaml": "",
            "partner-postbacks.yaml": "", "partners/a.test.yaml": "x", "partners/notes.txt": "x",
        ])
        #expect(throws: Never.self) { try pipelines.read { try $0.requireKnownFiles() } }
        #expect(try pipelines.read { try $0.partners() } == [])
        try pipelines.write("topic: a", to: "bidz.yaml")
        let words =
            "bidz.yaml: Weir does not read this file; known here: bids.yaml, impressions.yaml,"
            + " overlay-clicks.yaml, postbacks.yaml, store-notifications.yaml,"
            + " conversion-updates.yaml, costs.yaml, partner-postbacks.yaml, catalog.yaml, collector.yaml,"
            + " kafka.yaml, watch.yaml"
        #expect(
            pipelines.fault { directory throws(ConfigurationError) in
                try directory.requireKnownFiles()
            }
                == words
        )
    }

    @Test(
        "models and partners in files of other names are errors",
        arguments: [
            ("conversion-models/0123.yaml", "name it after its app"),
            ("conversion-models/puzzle.yaml", "name it after its app"),
            ("conversion-models/5.yml", "name it after its app"),
            ("conversion-models/0.yaml", "name it after its app"),
            ("partners/Example.yaml", "name it after the partner"),
            ("partners/a.yml", "name it after the partner"),
            ("partners/a_b.yaml", "name it after the partner"),
        ])
    func namesOfFiles(file: String, words: String) throws {
        let faults = try TemporaryPipelines([file: ""]).read { $0.check() }
        #expect(faults.count == 1 && faults[0].kind == .unknownFile)
        #expect(faults[0].description.contains("\(file): \(words)"))
    }

    @Test("check reports the first fault of every file, in a fixed order")
    func check() throws {
        let pipelines = try TemporaryPipelines([
            "bids.yaml": "a: 1", "typo.yaml": "", "catalog.yaml": "networks: []",
            "conversion-models/1.yaml": "app: 2\nversions: []",
            "conversion-models/2.yaml": "app: 2\nversions: []",
            "conversion-models/3.yaml": model.replacing("APP", with: "3"),
            "partners/a.yaml": partner.replacing("NAME", with: "b"),
            "partners/b.yaml": partner.replacing("NAME", with: "b"),
            "partners/c.yaml": "",
        ])
        let places = pipelines.read { $0.check() }.map {
            pipelines.words($0).split(separator: ": ").prefix(2).joined(separator: " ")
        }
        #expect(
            places == [
                "typo.yaml Weir does not read this file; known here", "bids.yaml:1 a",
                "catalog.yaml:1 networks", "conversion-models/1.yaml:1 app",
                "conversion-models/2.yaml:2 versions", "partners/a.yaml:1 name",
                "partners/c.yaml:1 name",
            ])
    }

    @Test("check asks for no file of a stream, and reads those that are there")
    func checkWhatIsThere() throws {
        let pipelines = try TemporaryPipelines(["postbacks.yaml": "trust_development: no"])
        #expect(pipelines.read { $0.check() }.map(\.line) == [1])
    }

    @Test("control characters of a file cannot break the line of an error")
    func oneLine() throws {
        let pipelines = try TemporaryPipelines(["bids.yaml": "\"a\\nb\\eb\": 1"])
        let fault = pipelines.fault { directory throws(ConfigurationError) in try directory.bids() }
        #expect(fault?.hasPrefix("bids.yaml:1: a\\nb\\u{1B}b: unknown key") == true)
    }

    @Test("apps are found by bundle id, whatever else the file of notifications says")
    func bundles() throws {
        let pipelines = try TemporaryPipelines([
            "store-notifications.yaml": """
            topic: store-notifications
            apps:
              - {bundle_id: com.example.rides, app_apple_id: 525463029, shared_secrets: [x]}
              - {bundle_id: com.example.none}
            """
        ])
        #expect(try pipelines.read { try $0.appsByBundle() } == ["com.example.rides": 525_463_029])
        #expect(try TemporaryPipelines().read { try $0.appsByBundle() } == [:])
    }
}
