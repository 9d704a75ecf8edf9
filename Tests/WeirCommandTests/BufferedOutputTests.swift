import Foundation
import TestKit
import Testing

@testable import weir

@Suite("What a command writes")
struct BufferedOutputTests {
    @Test("what a command wrote ends with the error where it fails midway, and else with nothing")
    func output() throws {
        let files = try TemporaryDirectory()
        let path = try files.write("", to: "rows")
        func write(_ pieces: [String]) throws -> String {
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try file.truncate(atOffset: 0)
            #expect(throws: TestFault.self) {
                try BufferedOutput.writing(as: .csv, fileDescriptor: file.fileDescriptor) { sink in
                    for piece in pieces { try sink(Array(piece.utf8)) }
                    throw TestFault("the disk is full")
                }
            }
            return try String(contentsOfFile: path, encoding: .utf8)
        }
        #expect(try write([]) == "")
        #expect(try write(["a,b\r\n1,2\r\n"]).hasPrefix("a,b\r\n1,2\r\nweir_error: "))
    }
}
