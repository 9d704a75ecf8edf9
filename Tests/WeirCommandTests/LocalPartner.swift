import Foundation
import Simulation
import Synchronization

/// A partner on a port of this machine that answers by a script, and remembers the keys and bodies that it
/// was sent.
final class LocalPartner: Sendable {
    struct Request: Sendable {
        var key: String
        var body: String
    }

    let port: UInt16
    private let descriptor: Int32
    private let received = Received()

    /// Listens when it returns. `status` is asked with the number of each request, from 0.
    init(_ status: @escaping @Sendable (Int) -> Int = { _ in 200 }) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(.EADDRINUSE) }
        self.descriptor = descriptor
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [received] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { return }
                Thread.detachNewThread { Self.serve(connection, status, received) }
            }
        }
    }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }

    /// What it was sent.
    var requests: [Request] { received.requests.withLock { $0 } }

    private final class Received: Sendable {
        let requests = Mutex<[Request]>([])
    }

    private static func serve(
        _ connection: Int32, _ status: @Sendable (Int) -> Int, _ received: Received
    ) {
        defer { close(connection) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(connection, &part, part.count, 0)
            guard count > 0 else { return }
            bytes += part[..<count]
            while let (request, length) = read(bytes) {
                bytes.removeFirst(length)
                let number = received.requests.withLock { requests in
                    requests.append(request)
                    return requests.count - 1
                }
                let answer = Array(
                    "HTTP/1.1 \(status(number)) Scripted\r\nContent-Length: 0\r\n\r\n".utf8)
                _ = send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
            }
        }
    }

    /// Reads a request, with its length; nil while it is not complete.
    private static func read(_ bytes: [UInt8]) -> (Request, length: Int)? {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        var headers: [String: String] = [:]
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        for line in head.components(separatedBy: "\r\n").dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts.last?.trimmingCharacters(in: .whitespaces)
        }
        let length = headers["content-length"].flatMap { Int($0) } ?? 0
        let body = bytes[end.upperBound...]
        guard body.count >= length else { return nil }
        return (
            Request(
                key: headers["idempotency-key"] ?? "",
                body: String(decoding: body.prefix(length), as: UTF8.self)),
            end.upperBound + length
        )
    }
}
