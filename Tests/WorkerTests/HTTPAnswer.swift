import Foundation
import Testing

/// One HTTP request to a port of this machine, and what was answered.
struct HTTPAnswer {
    var status: Int
    var head: String
    var body: String

    /// Asks, and waits for at most a minute.
    init(_ path: String, port: UInt16, method: String = "GET") throws {
        let descriptor = try Self.connect(port: port)
        defer { close(descriptor) }
        let request = Array(
            "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        #expect(write(descriptor, request, request.count) == request.count)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        let text = String(decoding: bytes, as: UTF8.self)
        let end = try #require(text.range(of: "\r\n\r\n"), "an answer")
        head = text[..<end.lowerBound].lowercased()
        body = String(text[end.upperBound...])
        let words = head.split(separator: " ")
        status = try #require(words.count > 1 ? Int(words[1]) : nil)
    }

    private static func connect(port: UInt16) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var timeout = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(result == 0, "port \(port) answers")
        return descriptor
    }
}
