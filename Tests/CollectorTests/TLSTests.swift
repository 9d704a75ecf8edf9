import Foundation
import TestKit
import Testing

@testable import Collector

/// Makes the certificate, and is the client.
private let openssl = "/usr/bin/openssl"

@Suite("TLS")
struct TLSTests {
    @Test("serves who speaks it, and cuts off who does not begin to")
    func served() throws {
        let place = try ProgramPlace()
        let pipelines = place.path + "/pipelines"
        let made = try run(
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-keyout", pipelines + "/key.pem", "-out", pipelines + "/chain.pem",
                "-days", "2", "-subj", "/CN=localhost",
            ], input: "")
        try #require(made.status == 0)
        try place.files.write(
            "tls: {certificate: chain.pem, key: key.pem}\nheader_timeout_seconds: 6\n",
            to: "pipelines/collector.yaml")
        let started = try place.start()
        defer { started.program.kill() }
        let silent = try RawConnection(port: started.port)
        let said = try run(
            ["s_client", "-quiet", "-connect", "127.0.0.1:\(started.port)"],
            input: "GET /livez HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        #expect(said.output.hasPrefix("HTTP/1.1 200 OK"))
        #expect(silent.isClosed())
        let plain = try RawConnection(port: started.port)
        plain.send(Requests.text("GET", "/livez"))
        #expect(plain.answer() == nil)
    }

    @Test("is refused with a key that is none, in one line")
    func badKey() throws {
        let place = try ProgramPlace()
        for name in ["chain.pem", "key.pem"] {
            try place.files.write("nothing\n", to: "pipelines/\(name)")
        }
        try place.files.write(
            "tls: {certificate: chain.pem, key: key.pem}\n", to: "pipelines/collector.yaml")
        let ended = try place.run(["--listen", "127.0.0.1:0"])
        #expect(ended.status == 1)
        #expect(ended.error.contains("chain.pem cannot be used for TLS"))
        #expect(ended.error.split(separator: "\n").count == 1)
    }

    private func run(
        _ arguments: [String], input: String
    ) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: openssl)
        process.arguments = arguments
        let (stdin, stdout) = (Pipe(), Pipe())
        process.standardInput = stdin
        process.standardOutput = stdout
        process.standardError = FileHandle.nullDevice
        try Spawning.apart { try process.run() }
        stdin.fileHandleForWriting.write(Data(input.utf8))
        let output = stdout.fileHandleForReading.readDataToEndOfFile()
        try stdin.fileHandleForWriting.close()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}
