import Foundation
import Monitoring
import Streams
import TestKit
import Testing

@Suite("What all programs do", .serialized)
struct ProgramsTests {
    @Test(
        "--version prints the version and ends with 0",
        arguments: ["weir", "weir-partner-postbacks", "weir-collector"]
            + allStreams.map { $0.programName })
    func version(_ name: String) throws {
        let program = try Program.run(name, ["--version"])
        #expect(program.status == 0)
        #expect(program.output == WeirVersion.current + "\n")
    }

    @Test("at a terminal, progress is gone before the result is written")
    func progress() throws {
        let workspace = try UpWorkspace()
        let file = try workspace.files.write("{\"value\":1}\n{\"value\":2}\n", to: "lines.ndjson")
        let terminal = try Terminal()
        let program = try Program(
            "weir",
            [
                "publish", "--topic", "bids", file, "--data", workspace.data, "--topics",
                Repository.path("topics"),
            ], error: terminal.end)
        try program.waitForExit()
        #expect(program.status == 0)
        let said = try terminal.readToEnd()
        #expect(said.contains("published 2 records"))
        let result = "published 2 records to bids in sqlite:\(workspace.log)\r\n"
        // Carriage return, and the rest of the line is cleared.
        #expect(said.hasSuffix("\r\u{1B}[K" + result), "\(said.debugDescription)")
    }

    /// A terminal of the test's own.
    private struct Terminal {
        /// What a process is given.
        let end: FileHandle
        private let own: FileHandle

        init() throws {
            let descriptor = open("/dev/ptmx", O_RDWR | O_NOCTTY)
            try #require(descriptor >= 0)
            own = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            // Glibc hides its functions for these behind a feature macro: TIOCSPTLCK and TIOCGPTN.
            var isLocked: Int32 = 0
            var number: UInt32 = 0
            try #require(ioctl(descriptor, 0x4004_5431, &isLocked) == 0)
            try #require(ioctl(descriptor, 0x8004_5430, &number) == 0)
            let name = "/dev/pts/\(number)"
            let other = open(name, O_RDWR | O_NOCTTY)
            try #require(other >= 0)
            end = FileHandle(fileDescriptor: other, closeOnDealloc: true)
        }

        /// What was written so far: to be called once the process has ended.
        func readToEnd() throws -> String {
            _ = fcntl(own.fileDescriptor, F_SETFL, O_NONBLOCK)
            var text: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(own.fileDescriptor, &buffer, buffer.count)
                guard count > 0 else { return String(decoding: text, as: UTF8.self) }
                text += buffer[..<count]
            }
        }
    }
}
