import ArgumentParser
import Foundation

/// The measurements of a server's clients.
struct HTTPLoad: Codable {
    var answers = 0
    var failures = 0
    var seconds = 0.0
    var p50Milliseconds = 0.0
    var p90Milliseconds = 0.0
    var p99Milliseconds = 0.0
    /// CPU time of this process, which runs the server.
    var serverSeconds = 0.0

    var perSecond: Double { Double(answers) / max(seconds, 0.001) }

    /// Starts a child process that sends requests over this many connections for this many seconds.
    static func run(port: Int, path: String, connections: Int, seconds: Double) throws -> HTTPLoad {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [
            "http-load", "--port", "\(port)", "--path", path, "--connections", "\(connections)",
            "--seconds", "\(seconds)",
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        let before = processSeconds
        try process.run()
        let said = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        var load = try JSONDecoder().decode(HTTPLoad.self, from: said)
        load.serverSeconds = processSeconds - before
        return load
    }

    private static var processSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// A connection to a local port; nil if it fails.
    static func connection(port: Int) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return result == 0 ? descriptor : nil
    }

    func report(_ name: String, connections: Int) {
        print(
            name.padding(toLength: 14, withPad: " ", startingAt: 0)
                + String(format: "%5d conns", connections)
                + String(
                    format: " %9.0f a second, p50 %.2f ms, p90 %.2f ms, p99 %.2f ms, %d failures, "
                        + "server %.0f µs of CPU each",
                    perSecond, p50Milliseconds, p90Milliseconds, p99Milliseconds, failures,
                    serverSeconds * 1e6 / Double(max(answers, 1))))
    }

    /// A postback of about 500 bytes with a unique id.
    static func body(_ number: Int) -> [UInt8] {
        Array(
            """
            {"version":"4.0","ad-network-id":"su67r6k2v3.skadnetwork","transaction-id":"\
            6aafb7a5-0170-41b5-bbe4-\(1_000_000_000_000 + number)","source-identifier":"5239",\
            "app-id":525463029,"source-app-id":1234567891,"did-win":true,"fidelity-type":1,\
            "postback-sequence-index":0,"redownload":false,"conversion-value":20,\
            "attribution-signature":"\(String(repeating: "MEUCIQ", count: 16))"}
            """.utf8)
    }
}

/// The process started by `HTTPLoad`.
struct HTTPLoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "http-load", abstract: "Sends postbacks to a port.", shouldDisplay: false)

    @Option var port: Int
    @Option var path: String
    @Option var connections: Int
    @Option var seconds: Double

    func run() throws {
        var client = HTTPClients(port: port, path: path, count: connections)
        let load = client.run(seconds: seconds)
        FileHandle.standardOutput.write(try JSONEncoder().encode(load))
    }
}

/// Connections served by one thread, each with one request at a time.
private struct HTTPClients {
    private struct Client {
        var descriptor: Int32
        var sentAt = 0.0
        var received: [UInt8] = []
    }

    private let path: String
    private var clients: [Client] = []
    private var number = 0

    init(port: Int, path: String, count: Int) {
        self.path = path
        for _ in 0..<count {
            guard let descriptor = HTTPLoad.connection(port: port) else { continue }
            var on: Int32 = 1
            setsockopt(
                descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on,
                socklen_t(MemoryLayout<Int32>.size))
            clients.append(Client(descriptor: descriptor))
        }
        // Distinct number ranges for different runs.
        number = Int(getpid()) * 10_000_000
    }

    mutating func run(seconds: Double) -> HTTPLoad {
        var load = HTTPLoad()
        var milliseconds: [Double] = []
        var polled = clients.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        let begun = Self.now
        for index in clients.indices { send(index) }
        while Self.now - begun < seconds {
            guard poll(&polled, nfds_t(polled.count), 100) > 0 else { continue }
            for index in polled.indices where polled[index].revents != 0 {
                guard let status = receive(index) else { continue }
                milliseconds.append((Self.now - clients[index].sentAt) * 1000)
                if status == 200 { load.answers += 1 } else { load.failures += 1 }
                if status == 0 { polled[index].fd = -1 } else { send(index) }
            }
        }
        load.seconds = Self.now - begun
        milliseconds.sort()
        func percentile(_ share: Double) -> Double {
            milliseconds.isEmpty ? 0 : milliseconds[Int(Double(milliseconds.count - 1) * share)]
        }
        load.p50Milliseconds = percentile(0.5)
        load.p90Milliseconds = percentile(0.9)
        load.p99Milliseconds = percentile(0.99)
        return load
    }

    private mutating func send(_ index: Int) {
        number += 1
        let body = HTTPLoad.body(number)
        let request =
            Array(
                """
                POST \(path) HTTP/1.1\r
                Host: 127.0.0.1\r
                Content-Type: application/json\r
                Content-Length: \(body.count)\r
                \r

                """.utf8) + body
        clients[index].sentAt = Self.now
        _ = request.withUnsafeBytes {
            Foundation.send(
                clients[index].descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
    }

    /// The status of an answer once its head is complete; 0 when the connection is closed. Measured answers do not have
    /// a body.
    private mutating func receive(_ index: Int) -> Int? {
        var part = [UInt8](repeating: 0, count: 4096)
        let count = recv(clients[index].descriptor, &part, part.count, 0)
        guard count > 0 else { return 0 }
        clients[index].received += part[..<count]
        let received = clients[index].received
        guard received.suffix(4).elementsEqual([13, 10, 13, 10]) else { return nil }
        clients[index].received.removeAll(keepingCapacity: true)
        return Int(String(decoding: received.dropFirst(9).prefix(3), as: UTF8.self)) ?? -1
    }

    private static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
