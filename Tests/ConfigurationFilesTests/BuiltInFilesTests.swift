import ConfigurationFiles
import ConfigurationValues
import Foundation
import TestKit
import Testing

@Suite("The files that are part of every program")
struct BuiltInFilesTests {
    @Test("they are those of the repository, byte for byte", arguments: ["pipelines", "topics"])
    func same(_ folder: String) throws {
        let root = Repository.path(folder)
        let paths = try FileManager.default.subpathsOfDirectory(atPath: root).filter { path in
            let isDirectory = YAMLFiles().isDirectory("\(root)/\(path)")
            // What a developer keeps there is not shipped.
            return !isDirectory && !path.hasPrefix("secrets/") && !path.hasPrefix(".")
        }
        let files = BuiltInFiles.all(in: folder)
        #expect(Set(files.map(\.path)) == Set(paths), "Sources/CShippedFiles lists them")
        #expect(files.count > 10)
        for file in files {
            let bytes = FileManager.default.contents(atPath: "\(root)/\(file.path)")
            #expect(bytes == Data(file.text.utf8), "\(file.path)")
        }
    }

    @Test("they are read as the configuration on disk is")
    func configuration() throws {
        let builtIn = PipelineDirectory(BuiltInPath.pipelines)
        let onDisk = PipelineDirectory(Repository.path("pipelines"))
        #expect(builtIn.check() == [])
        #expect(try builtIn.catalog().campaigns == onDisk.catalog().campaigns)
        #expect(try builtIn.conversionModels() == onDisk.conversionModels())
        #expect(try builtIn.partners().map(\.name) == onDisk.partners().map(\.name))
        #expect(try builtIn.groups() == onDisk.groups())
        #expect(builtIn.hasWatch && !builtIn.hasRates)
        #expect(try builtIn.names(in: "costs") == onDisk.names(in: "costs"))
    }

    @Test("errors name them by a path that an option accepts, and where to get files of one's own")
    func paths() throws {
        let files = BuiltInFiles()
        #expect(files.isDirectory("built-in:pipelines/"))
        #expect(files.isDirectory("built-in:pipelines/costs"))
        #expect(!files.isDirectory("built-in:pipelines/cost"))
        #expect(!files.isDirectory("built-in:pipelines/bids.yaml"))
        #expect(files.exists("built-in:pipelines//bids.yaml"))
        #expect(files.names(in: "built-in:none") == nil)
        #expect(files.names(in: "built-in:topics")?.contains("bids.dlq.yaml") == true)
        #expect {
            try files.text(of: "built-in:pipelines/secrets/key")
        } throws: {
            "\($0)".contains("built-in:pipelines/secrets/key") && "\($0)".contains("weir init")
        }
        let place = try TemporaryDirectory()
        let secret = try place.write("sesame", to: "key")
        #expect(try files.text(of: secret) == "sesame", "other paths are on disk")
    }

    @Test("a copy is the same configuration, and replaces nothing")
    func copy() throws {
        let place = try TemporaryDirectory()
        let path = place.path + "/pipelines"
        try BuiltInFiles.copy("pipelines", to: path)
        #expect(PipelineDirectory(path).check() == [])
        #expect(throws: (any Error).self) { try BuiltInFiles.copy("pipelines", to: path) }
    }
}
