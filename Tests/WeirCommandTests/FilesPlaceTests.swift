import Foundation
import Program
import TestKit
import Testing

@testable import weir

@Suite("Where programs find their files")
struct FilesPlaceTests {
    private let data = ["first", "second"]

    /// The places in use while the later ones exist too.
    private func places(_ kind: FilesPlace.Kind, _ variable: String, _ others: [String]) -> [String]
    {
        let set = Environment([variable: "set"])
        let unset = Environment([variable: ""])
        return [
            set.place(of: kind, "given", data: data) { _ in true }.path,
            set.place(of: kind, nil, data: data) { _ in true }.path,
        ]
            + (0...others.count).map { index in
                unset.place(of: kind, nil, data: data) { others.dropFirst(index).contains($0) }.path
            }
    }

    @Test(
        "the option, the variable, the data, the current directory, the machine, then the program")
    func order() {
        let pipelines = ["first/pipelines", "pipelines", "/etc/weir/pipelines"]
        #expect(
            places(.pipelines, "WEIR_PIPELINES", pipelines)
                == ["given", "set"] + pipelines + ["built-in:pipelines"])
        let topics = ["topics", "/usr/share/weir/topics"]
        #expect(
            places(.topics, "WEIR_TOPICS", topics)
                == ["given", "set"] + topics + ["built-in:topics"])
        #expect(
            FilesPlace.Kind.pipelines.order
                == "--pipelines, WEIR_PIPELINES, DATA/pipelines, pipelines, /etc/weir/pipelines, built-in:pipelines"
        )
    }

    @Test("a broken link is a directory that is missing by mistake, and a file is something else")
    func existence() throws {
        let place = try TemporaryDirectory()
        #expect(!FilesPlace.isThere(place.path + "/none"))
        #expect(!FilesPlace.isThere(place.path + "/none/pipelines"))
        #expect(FilesPlace.isThere(place.path))
        #expect(!FilesPlace.isThere(try place.write("", to: "topics")))
        let link = place.path + "/pipelines"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "none")
        #expect(FilesPlace.isThere(link))
    }

    @Test("weir check prints which files it reads, and warns about the example")
    func check() throws {
        var report = CheckReport()
        let (given, built) = (Environment([:]), { (_: String) in false })
        report.add(
            given.place(of: .pipelines, "mine", data: data),
            given.place(of: .topics, nil, data: data, isThere: built))
        let lines = """
            ok: reads the configuration mine (--pipelines), the first of \(FilesPlace.Kind.pipelines.order)
            ok: reads the topics built-in:topics (part of this program), the first of \(FilesPlace.Kind.topics.order)

            """
        #expect(report.text == lines)
        report = CheckReport()
        report.add(
            given.place(of: .pipelines, nil, data: data, isThere: built),
            given.place(of: .topics, nil, data: data, isThere: built))
        #expect(report.text.contains("\nwarning: this is the built-in example"))
        #expect(report.wrongCount == 0)
    }

    @Test("topics that are built in are those on disk, and a remedy names a file to edit")
    func topics() throws {
        var builtIn = try TopicDirectory("built-in:topics").topics()
        let onDisk = try TopicDirectory(Repository.path("topics")).topics()
        #expect(builtIn.first?.file == "built-in:topics/bids.yaml")
        #expect(
            builtIn.first?.fileToEdit == "topics/bids.yaml, which weir init --topics topics writes")
        #expect(onDisk.first?.fileToEdit == onDisk.first?.file)
        for index in builtIn.indices { builtIn[index].file = onDisk[index].file }
        #expect(builtIn == onDisk)
    }
}
