import Foundation
import Simulation
import Testing

/// Requests to a collector, as clients of all kinds send them.
struct Requests {
    let port: UInt16

    /// Sends one request over a connection of its own.
    func send(
        _ method: String, _ target: String, headers: [String: String] = [:], body: [UInt8]? = nil
    ) throws -> Answer {
        let connection = try RawConnection(port: port)
        connection.send(Self.text(method, target, headers: headers, body: body))
        return try #require(connection.answer(), "\(method) \(target) is answered")
    }

    func get(_ target: String, headers: [String: String] = [:]) throws -> Answer {
        try send("GET", target, headers: headers)
    }

    /// Posts a body, by default as JSON.
    func post(
        _ target: String, _ body: String, type: String? = "application/json",
        headers: [String: String] = [:]
    ) throws -> Answer {
        var headers = headers
        if let type { headers["Content-Type"] = type }
        return try send("POST", target, headers: headers, body: Array(body.utf8))
    }

    /// The bytes of a request.
    static func text(
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
