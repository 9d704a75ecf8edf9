import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

/// Serves `/metrics`, `/livez` and `/readyz` over HTTP/1.1, on one thread of its own.
package final class MonitoringEndpoint {
    /// More connections than these wait: the files of the process are not theirs to use up.
    private static let maxConnections = 64
    private static let idleSeconds: Int64 = 30

    /// Where it listens, with the port that was picked.
    package var address: ListenAddress { listener.address }
    private let listener: HTTPListener

    /// Listens when it returns; `update` is called before metrics are printed.
    package init(
        at address: ListenAddress, registry: MetricRegistry, health: Health, logger: Logger,
        update: @escaping @Sendable () -> Void
    ) throws(MonitoringError) {
        let channel = HTTP1Channel(
            responder: { request, writer, _ in
                let response = Self.respond(to: request, registry, health, update)
                try await writer.write(response: response.head, body: response.body)
            },
            configuration: .init(idleTimeout: .seconds(Self.idleSeconds)))
        do throws(HTTPListeningError) {
            listener = try HTTPListener(
                at: address, threads: 1, maxConnections: Self.maxConnections, channel: channel,
                logger: logger)
        } catch {
            throw .cannotListen(address, detail: error.detail)
        }
    }

    /// Closes all connections, and returns when they are.
    package func stop() {
        listener.stop()
    }
}

// MARK: What is answered

extension MonitoringEndpoint {
    private static func respond(
        to request: Request, _ registry: MetricRegistry, _ health: Health, _ update: () -> Void
    ) -> Response {
        guard ["/metrics", "/livez", "/readyz"].contains(request.uri.path) else {
            return response(.notFound, "not found: ask for /metrics, /livez or /readyz\n")
        }
        guard request.method == .get else {
            var response = response(.methodNotAllowed, "not allowed: ask with GET\n")
            response.headers[.allow] = "GET"
            return response
        }
        switch request.uri.path {
        case "/livez": return response(health.stall())
        case "/readyz": return response(health.unreadiness)
        default:
            update()
            return response(.ok, registry.text, type: ExpositionText.contentType)
        }
    }

    private static func response(_ fault: String?) -> Response {
        guard let fault else { return response(.ok, "ok\n") }
        return response(.serviceUnavailable, fault + "\n")
    }

    private static func response(
        _ status: HTTPResponse.Status, _ text: String, type: String = "text/plain; charset=utf-8"
    ) -> Response {
        Response(
            status: status, headers: [.contentType: type, .date: date],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    /// Now, as HTTP has it.
    private static var date: String {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
            let count = strftime(text.baseAddress, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
            return String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }
}
