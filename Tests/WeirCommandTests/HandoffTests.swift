import EventLog
import Foundation
import TestKit
import Testing

@Suite("Hand-offs")
struct HandoffTests {
    @Test("move partitions between data directories, and their numbers stay the same")
    func move() throws {
        let measured = try MeasuredWorkspace("postbacks")
        let workspace = measured.workspace
        try measured.configure(0)
        try measured.publish(try measured.records(200, seed: 3))
        try measured.fold()
        let root = workspace.path + "/handoff"
        func handoff(
            _ command: String, data: String? = nil, _ more: [String] = []
        ) throws
            -> Program
        {
            try Program.run(
                "weir",
                ["handoff", command, root]
                    + (data.map { ["--data", "\(workspace.path)/\($0)"] } ?? []) + more)
        }
        let exported = try handoff("export", data: "data")
        #expect(exported.status == 0 && exported.output.contains("written"), "\(exported.error)")
        #expect(try handoff("list").status == 0)
        let imported = try handoff("import", data: "other", ["--partitions", "1-3"])
        #expect(imported.status == 0 && imported.output.contains("imported"), "\(imported.error)")
        #expect(try workspace.states("postbacks", data: "other").map(\.partition) == [1, 2, 3])
        let again = try handoff("import", data: "other")
        #expect(again.output.contains("not needed"))
        #expect(
            try workspace.contents("postbacks", data: "other")
                == workspace.contents("postbacks"))
        // One damaged byte, and the snapshot is refused by name.
        let directory = "\(root)/postbacks/0"
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: directory).first {
                $0.hasPrefix("day-")
            })
        var bytes = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)"))
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(fileURLWithPath: "\(directory)/\(name)"))
        let listed = try handoff("list")
        #expect(listed.status == 1 && listed.output.contains("\(name) is damaged"))
        let refused = try handoff("import", data: "third")
        #expect(refused.status == 1 && refused.error.contains("\(name) is damaged"))
        #expect(!FileManager.default.fileExists(atPath: "\(workspace.path)/third/postbacks.sqlite"))
    }
}
