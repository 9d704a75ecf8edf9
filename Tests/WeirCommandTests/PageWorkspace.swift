import Foundation
import TestKit
import Testing

/// A directory as a fresh clone, in which the commands of a page run one after the other as in a shell. The
/// ports that pages name are replaced by free ones.
final class PageWorkspace {
    private static let collectorPort = "8080"
    private static let dashboardPort = "8090"
    private static let partnerPort = "9000"
    /// A command may take this long to print its output: workers fold what came within a second.
    private static let waitSeconds = Wait.seconds

    private let workspace: TemporaryDirectory
    private let ports: [String: String]
    private var environment: [String: String]
    private var running: [(command: String, process: Process)] = []

    init() throws {
        workspace = try TemporaryDirectory()
        ports = try Self.freePorts(for: [
            Self.collectorPort, Self.dashboardPort, Self.partnerPort,
        ])
        let program = try Program.directory()
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        environment = [
            "PATH": "\(program):\(path)", "LC_ALL": "C.UTF-8", "CURL_HOME": workspace.path,
            "WEIR_LISTEN": "127.0.0.1:\(ports[Self.collectorPort] ?? "")",
            "WEIR_DASHBOARD": "127.0.0.1:\(ports[Self.dashboardPort] ?? "")",
        ]
        // At a terminal curl shows no progress either.
        try workspace.write("silent\nshow-error\n", to: ".curlrc")
        for name in ["pipelines", "topics", "examples"] {
            try FileManager.default.copyItem(
                atPath: Repository.path(name), toPath: "\(workspace.path)/\(name)")
        }
        let partner = "\(workspace.path)/examples/partners/local.yaml"
        let text = try String(contentsOfFile: partner, encoding: .utf8)
        try Data(onFreePorts(text).utf8).write(to: URL(fileURLWithPath: partner))
    }

    deinit {
        for (_, process) in running where process.isRunning {
            kill(process.processIdentifier, SIGKILL)
        }
    }

    /// What a step prints. A step of Weir is repeated until it prints what is expected or the time is over,
    /// one with `&` at the end is left to run, and one that sets a variable sets it for those behind it.
    func run(_ step: PageStep, until expected: String) throws -> String {
        let command = onFreePorts(step.command)
        if command.hasSuffix(" &") { return try start(command, until: expected) }
        if let assignment = command.prefixMatch(of: /(?:export )?([A-Z_]+)=/) {
            let name = String(assignment.1)
            let (printed, status) = try shell("\(command)\nprintf %s \"$\(name)\"")
            #expect(status == 0, "\(command)")
            environment[name] = printed
            return ""
        }
        let deadline = Date().addingTimeInterval(Self.waitSeconds)
        while true {
            let (printed, status) = try shell(command)
            let said = plain(printed)
            guard said != expected, command.hasPrefix("weir "), Date() < deadline else {
                // Before its end a step may fail, as one that reads a store which its worker has yet to make.
                #expect(status == 0, "\(command)")
                return said
            }
            Thread.sleep(forTimeInterval: 0.2)
        }
    }

    /// Ends what was left to run, and returns its exit code.
    func stop(_ command: String) throws -> Int32 {
        let found = running.first { $0.command.hasPrefix(command) }
        let process = try #require(found?.process, "\(command) runs")
        kill(process.processIdentifier, SIGTERM)
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// Output without what differs from run to run: instants, and the widths of columns that follow from
    /// ports.
    func plain(_ output: String) -> String {
        onFreePorts(output)
            .replacing(/\d{4}-\d\d-\d\dT[\d:.]+Z/, with: "TIME")
            .replacing(#/ +/#, with: " ").replacing(#/ ?\n/#, with: "\n")
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func onFreePorts(_ text: String) -> String {
        ports.reduce(text) { text, port in
            text.replacing("127.0.0.1:\(port.key)", with: "127.0.0.1:\(port.value)")
                .replacing("listen.py \(port.key)", with: "listen.py \(port.value)")
        }
    }

    private func shell(_ command: String) throws -> (printed: String, status: Int32) {
        let process = makeProcess(command)
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try Spawning.apart { try process.run() }
        let said = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (String(decoding: said, as: UTF8.self), process.terminationStatus)
    }

    private func start(_ command: String, until expected: String) throws -> String {
        let file = try workspace.write("", to: "output-\(running.count)")
        let process = makeProcess("exec \(command.dropLast(2))")
        let output = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
        process.standardOutput = output
        process.standardError = output
        try Spawning.apart { try process.run() }
        running.append((command, process))
        let deadline = Date().addingTimeInterval(Self.waitSeconds)
        var said = ""
        while said != expected, Date() < deadline, process.isRunning {
            Thread.sleep(forTimeInterval: 0.05)
            said = plain(try String(contentsOfFile: file, encoding: .utf8))
        }
        return said
    }

    private func makeProcess(_ command: String) -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        process.currentDirectoryURL = URL(fileURLWithPath: workspace.path)
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        return process
    }

    /// A free port for each port of a page. Other tests get ports that the system chooses, which are higher.
    private static func freePorts(for names: [String]) throws -> [String: String] {
        var sockets: [Int32] = []
        // Each port is taken until all are found, so that they differ.
        defer { for socket in sockets { close(socket) } }
        return try names.reduce(into: [:]) { ports, name in
            for _ in 0..<100 where ports[name] == nil {
                let port = UInt16.random(in: 20_000..<32_000)
                guard let taken = take(port) else { continue }
                sockets.append(taken)
                ports[name] = "\(port)"
            }
            try #require(ports[name] != nil, "a port is free")
        }
    }

    /// A socket with a port; nil if the port is not free.
    private static func take(_ port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        if isBound { return descriptor }
        close(descriptor)
        return nil
    }
}
