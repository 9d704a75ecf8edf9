import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A partner on the loopback address that does what a script says, and remembers what it was sent.
package final class ScriptedPartner: Sendable {
    /// How the partner answers a request.
    package enum Reaction: Sendable {
        case answer(Int, [String] = [], body: String = "")
        /// Never answers.
        case silence
        /// It closes the connection.
        case hangUp
        /// These bytes, then it closes.
        case bytes(String)
        /// An answer whose body never ends.
        case endless(Int)
    }

    package struct Request: Sendable {
        /// When, by the clock of the test.
        package var atMilliseconds: Int64
        package var line: String
        /// The line and the headers as sent.
        package var head: String
        /// Number of the connection, from 0.
        package var connection: Int
        /// Headers by their names in lower case.
        package var headers: [String: String]
        package var body: String

        package var target: String { String(line.split(separator: " ").dropFirst().first ?? "") }
    }

    package typealias Script = @Sendable (_ request: Request, _ number: Int) -> Reaction

    package let port: UInt16
    private let received: Received
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    /// Listens when it returns. Requests are numbered from 0.
    package init(
        clock: ManualClock = ManualClock(), tls: NIOSSLContext? = nil,
        _ script: @escaping Script = { _, _ in .answer(200) }
    ) throws {
        let received = Received()
        self.received = received
        let channel = try ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        try channel.pipeline.syncOperations.addHandler(
                            NIOSSLServerHandler(context: tls))
                    }
                    try channel.pipeline.syncOperations.addHandler(
                        Conversation(received: received, clock: clock, script: script))
                }
            }
            .bind(host: "127.0.0.1", port: 0).wait()
        port = UInt16(channel.localAddress?.port ?? 0)
    }

    deinit { group.shutdownGracefully { _ in } }

    package var url: String { "http://127.0.0.1:\(port)" }
    package var requests: [Request] { received.all }
    package var openConnectionCount: Int { received.openConnectionCount }
    /// The idempotency keys of the received requests.
    package var keys: Set<String> { Set(requests.compactMap { $0.headers["idempotency-key"] }) }

    /// A port without a listener. The system does not assign it to other sockets.
    package static let closedPort = 1

    fileprivate final class Received: Sendable {
        private let requests = Mutex<[Request]>([])

        private let connections = Atomic<Int>(0)
        private let closed = Atomic<Int>(0)

        var openConnectionCount: Int {
            connections.load(ordering: .relaxed) - closed.load(ordering: .relaxed)
        }

        var all: [Request] { requests.withLock { $0 } }

        func nextConnection() -> Int {
            connections.wrappingAdd(1, ordering: .relaxed).oldValue
        }

        func connectionClosed() { closed.wrappingAdd(1, ordering: .relaxed) }

        /// Adds a request, and says how many there were before.
        func add(_ request: Request) -> Int {
            requests.withLock { requests in
                requests.append(request)
                return requests.count - 1
            }
        }
    }
}

/// One connection. Called on its event loop only.
private final class Conversation: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let received: ScriptedPartner.Received
    private let clock: ManualClock
    private let script: ScriptedPartner.Script
    private let connection: Int
    private var text = ""

    package init(
        received: ScriptedPartner.Received, clock: ManualClock,
        script: @escaping ScriptedPartner.Script
    ) {
        self.received = received
        connection = received.nextConnection()
        self.clock = clock
        self.script = script
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        text += String(buffer: unwrapInboundIn(data))
        while let request = next() {
            switch script(request, received.add(request)) {
            case .answer(let status, let headers, let body):
                let lines =
                    ["HTTP/1.1 \(status) Scripted", "Content-Length: \(body.utf8.count)"] + headers
                write(lines.joined(separator: "\r\n") + "\r\n\r\n" + body, context)
            case .silence: break
            case .hangUp: context.close(promise: nil)
            case .bytes(let bytes):
                write(bytes, context)
                context.close(promise: nil)
            case .endless(let status):
                write("HTTP/1.1 \(status) Scripted\r\nContent-Length: 100000000\r\n\r\n", context)
                for _ in 0..<10 { write(String(repeating: "x", count: 50_000), context) }
            }
        }
    }

    func channelInactive(context: ChannelHandlerContext) { received.connectionClosed() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func write(_ text: String, _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
    }

    private func next() -> ScriptedPartner.Request? {
        guard let end = text.range(of: "\r\n\r\n") else { return nil }
        let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts.dropFirst().first.map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
        let length = headers["content-length"].flatMap { Int($0) } ?? 0
        let rest = text[end.upperBound...]
        guard rest.utf8.count >= length else { return nil }
        let body = String(decoding: rest.utf8.prefix(length), as: UTF8.self)
        text = String(decoding: rest.utf8.dropFirst(length), as: UTF8.self)
        return ScriptedPartner.Request(
            atMilliseconds: clock.nowMilliseconds, line: lines[0],
            head: lines.joined(separator: "\n"), connection: connection, headers: headers,
            body: body)
    }
}

/// A clock that stands still until it is set.
package final class ManualClock: Sendable {
    private let now = Mutex<Int64>(1_700_000_000_000)

    package init() {}

    package var nowMilliseconds: Int64 { now.withLock { $0 } }

    package func set(_ milliseconds: Int64) { now.withLock { $0 = milliseconds } }
}
