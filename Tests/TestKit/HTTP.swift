import Foundation

/// A connection to a port of this machine, over which bytes are sent as they are.
package final class RawConnection {
    private let descriptor: Int32
    private var buffer: [UInt8] = []

    /// Connects; answers are waited for so long.
    ///
    /// - Parameter source: the address of this machine to connect from, as 127.0.0.2; nil for any.
    package init(
        port: UInt16, from source: String? = nil, timeoutSeconds: Int = Int(Wait.seconds)
    ) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var timeout = timeval(tv_sec: timeoutSeconds, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, size)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        if let source {
            address.sin_addr.s_addr = inet_addr(source)
            let bound = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard bound == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
        }
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw POSIXError(.ECONNREFUSED) }
    }

    deinit { close(descriptor) }

    /// Sends bytes; false when the other side is gone.
    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// Sends text; false when the other side is gone.
    @discardableResult
    package func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Says that nothing more is sent.
    package func finish() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// The next answer; nil when the connection is closed before one is complete, or stays silent.
    package func answer() -> Answer? {
        while true {
            if let (answer, length) = Answer.read(buffer) {
                buffer.removeFirst(length)
                return answer
            }
            guard receive() else { return nil }
        }
    }

    /// The next line of text, with the empty one behind it; nil when there is none.
    package func nextLine() -> String? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = buffer.firstRange(of: end) {
                defer { buffer.removeFirst(range.upperBound) }
                return String(decoding: buffer[..<range.lowerBound], as: UTF8.self)
            }
            guard receive() else { return nil }
        }
    }

    /// Whether the other side closes the connection, whatever it sends before.
    package func isClosed() -> Bool {
        while receive() {}
        return isAtEnd
    }

    private var isAtEnd = false

    private func receive() -> Bool {
        var part = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &part, part.count, 0)
        guard count > 0 else {
            isAtEnd = count == 0 || errno == ECONNRESET
            return false
        }
        buffer += part[..<count]
        return true
    }
}

/// An answer, read off a connection.
package struct Answer {
    package var status: Int
    /// Headers by their names in lower case.
    package var headers: [String: String]
    package var body: [UInt8]

    package var text: String { String(decoding: body, as: UTF8.self) }

    /// A member of the body, which is a JSON object.
    package subscript(name: String) -> Any? { (try? jsonObject(text))?[name] }

    /// The reason of a refusal.
    package var error: String? { self["error"] as? String }

    /// Reads one, with its length; nil while it is not complete. Answers of 1xx are passed over.
    package static func read(_ bytes: [UInt8]) -> (Answer, length: Int)? {
        let end = Array("\r\n\r\n".utf8)
        guard let headEnd = bytes.firstRange(of: end) else { return nil }
        let lines = String(decoding: bytes[..<headEnd.lowerBound], as: UTF8.self)
            .components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        guard words.count > 1, let status = Int(words[1]) else { return nil }
        if status < 200 {
            guard let (answer, length) = read(Array(bytes[headEnd.upperBound...])) else {
                return nil
            }
            return (answer, length + headEnd.upperBound)
        }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] = line[line.index(after: colon)...]
                .trimmingCharacters(in: .whitespaces)
        }
        if headers["transfer-encoding"]?.lowercased() == "chunked" {
            guard let (body, length) = chunked(Array(bytes[headEnd.upperBound...])) else {
                return nil
            }
            return (
                Answer(status: status, headers: headers, body: body), headEnd.upperBound + length
            )
        }
        let length = Int(headers["content-length"] ?? "") ?? 0
        guard bytes.count >= headEnd.upperBound + length else { return nil }
        return (
            Answer(
                status: status, headers: headers,
                body: Array(bytes[headEnd.upperBound..<headEnd.upperBound + length])),
            headEnd.upperBound + length
        )
    }
}

extension Answer {
    /// The bytes of all chunks, and the length of these with the last one; nil while that has not come.
    private static func chunked(_ bytes: [UInt8]) -> (body: [UInt8], length: Int)? {
        var body: [UInt8] = []
        var index = 0
        while let end = bytes[index...].firstRange(of: Array("\r\n".utf8)) {
            let size = Int(
                String(decoding: bytes[index..<end.lowerBound], as: UTF8.self), radix: 16)
            guard let size, bytes.count >= end.upperBound + size + 2 else { return nil }
            body += bytes[end.upperBound..<end.upperBound + size]
            index = end.upperBound + size + 2
            if size == 0 { return (body, index) }
        }
        return nil
    }
}

/// Requests to a port of this machine, as clients of all kinds send them.
package struct Requests {
    package let port: UInt16

    package init(port: UInt16) { self.port = port }

    /// Sends one request over a connection of its own.
    package func send(
        _ method: String, _ target: String, headers: [String: String] = [:], body: [UInt8]? = nil
    ) throws -> Answer {
        let connection = try RawConnection(port: port)
        connection.send(Self.text(method, target, headers: headers, body: body))
        guard let answer = connection.answer() else {
            throw TestFault("\(method) \(target) is not answered")
        }
        return answer
    }

    package func get(_ target: String, headers: [String: String] = [:]) throws -> Answer {
        try send("GET", target, headers: headers)
    }

    /// Posts a body, by default as JSON.
    package func post(
        _ target: String, _ body: String, type: String? = "application/json",
        headers: [String: String] = [:]
    ) throws -> Answer {
        var headers = headers
        if let type { headers["Content-Type"] = type }
        return try send("POST", target, headers: headers, body: Array(body.utf8))
    }

    /// The bytes of a request.
    package static func text(
        _ method: String, _ target: String, headers: [String: String] = [:], body: [UInt8]? = nil
    ) -> [UInt8] {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n"
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            head += "\(name): \(value)\r\n"
        }
        if let body { head += "Content-Length: \(body.count)\r\n" }
        return Array((head + "\r\n").utf8) + (body ?? [])
    }
}
