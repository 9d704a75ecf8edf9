import ArgumentParser
import Collector
import EmbeddedLog
import EventLog
import Foundation
import Hummingbird
import Logging
import Monitoring

/// Postbacks through the collector, durable when answered, compared in the same run with an empty Hummingbird route
/// that reads the same bodies.
struct CollectorBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "collector",
        abstract: "Requests a second and latencies of the collector beside an empty route.",
        discussion: """
            The clients are a process of their own, with one thread that waits for all connections. Both \
            servers run in this one. The latency of a durable commit is that of one record appended \
            by one thread.
            """)

    @Option(help: "Seconds of each measurement.") var seconds = 10.0
    @Option(help: "Connections, as 1,64,512.") var connections = "1,64,512"
    @Option(help: "At the end, one client beside so many that pipeline requests; 0 for none.")
    var flood = 100

    private static let commits = 200
    /// The first commits extend files, which costs more than overwriting.
    private static let unmeasuredCommits = 1500

    func run() throws {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        let path = FileManager.default.temporaryDirectory
            .appending(path: "weir-benchmark-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let log = try EmbeddedLog(path: path + "/log.sqlite", mode: .create)
        let logger = Logger(label: "benchmark")
        try CollectorTopics.createMissing(in: log, logger: logger)
        let commit = try commitMilliseconds(log)
        print(String(format: "a durable commit         median %.2f ms", commit))
        let collector = try Collector(
            CollectorSettings(listen: ListenAddress(host: "127.0.0.1", port: 0)), log: log,
            metrics: nil, logger: logger)
        defer { collector.stop() }
        let empty = try EmptyServer(logger: logger)
        defer { empty.stop() }
        for count in connections.split(separator: ",").compactMap({ Int($0) }) {
            let bound = try HTTPLoad.run(
                port: empty.port, path: "/empty", connections: count, seconds: seconds)
            let own = try HTTPLoad.run(
                port: Int(collector.address.port), path: "/v1/postbacks/skadnetwork",
                connections: count, seconds: seconds)
            bound.report("empty route", connections: count)
            own.report("collector", connections: count)
            print(
                String(
                    format: "                         %.2f of its requests; p50 is %.2f commits",
                    own.perSecond / bound.perSecond, own.p50Milliseconds / commit))
        }
        guard flood > 0 else { return }
        let port = Int(collector.address.port)
        let clients = HTTPFlood(port: port, connections: flood)
        defer { clients.stop() }
        try HTTPLoad.run(
            port: port, path: "/v1/postbacks/skadnetwork", connections: 1, seconds: seconds
        ).report("beside \(flood) that pipeline", connections: 1)
    }

    /// The median time of appending a single record.
    private func commitMilliseconds(_ log: EmbeddedLog) throws -> Double {
        let writer = try log.writer()
        let clock = ContinuousClock()
        let times = try (0..<Self.unmeasuredCommits + Self.commits).map { number in
            try clock.measure {
                try writer.append([
                    OutgoingRecord(
                        topic: "bids", key: Array("\(number)".utf8), value: HTTPLoad.body(number))
                ])
            }
        }.suffix(Self.commits).sorted()
        let (seconds, attoseconds) = times[times.count / 2].components
        return Double(seconds) * 1e3 + Double(attoseconds) / 1e15
    }
}

/// A Hummingbird server with one route that reads a body and sends an empty answer.
private final class EmptyServer: Sendable {
    let port: Int
    private let task: Task<Void, any Error>

    init(logger: Logger) throws {
        let router = Router()
        router.post("empty") { request, _ in
            _ = try await request.body.collect(upTo: 1 << 20)
            return HTTPResponse.Status.ok
        }
        let bound = DispatchSemaphore(value: 0)
        let port = Box()
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in
                port.value = channel.localAddress?.port ?? 0
                bound.signal()
            }, logger: logger)
        task = Task { try await application.run() }
        bound.wait()
        self.port = port.value
    }

    func stop() {
        task.cancel()
    }

    /// Written before the semaphore is signalled, read afterwards.
    private final class Box: @unchecked Sendable {
        var value = 0
    }
}
