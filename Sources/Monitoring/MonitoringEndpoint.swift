import Foundation
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// Serves `/metrics`, `/livez` and `/readyz` over HTTP/1.1, on its own thread.
package final class MonitoringEndpoint {
    /// Further connections wait, so that they do not use up the process's file descriptors.
    private static let limits = {
        var limits = ConnectionLimits()
        limits.maxConnections = 64
        // A scraper uses one address.
        limits.maxConnectionsPerAddress = limits.maxConnections
        limits.idleTimeoutSeconds = 30
        return limits
    }()

    package var address: ListenAddress { listener.address }
    private let listener: HTTPListener

    /// Listens when it returns. Calls `update` before it prints metrics.
    package init(
        at address: ListenAddress, registry: MetricRegistry, health: Health, logger: Logger,
        update: @escaping @Sendable () -> Void
    ) throws(MonitoringError) {
        let connections = GuardedConnections(Self.limits)
        let routes = Self.routes(connections, registry, health, update)
        do throws(HTTPListeningError) {
            listener = try connections.listen(
                at: address, over: connections.channel(routes), logger: logger)
        } catch {
            throw .cannotListen(address, detail: error.detail)
        }
    }

    /// Returns after all connections were closed.
    package func stop() {
        listener.stop()
    }
}

// MARK: Responses

extension MonitoringEndpoint {
    private static func routes(
        _ connections: GuardedConnections, _ registry: MetricRegistry, _ health: Health,
        _ update: @escaping @Sendable () -> Void
    ) -> ServedRoutes {
        ServedRoutes(
            connections,
            refuse: { refusal, _, _ in
                switch refusal {
                case .otherMethod: response(.methodNotAllowed, "not allowed: use GET\n")
                case .notFound, .tooManyRequests:
                    response(.notFound, "not found: use /metrics, /livez or /readyz\n")
                }
            },
            add: { router in
                router.get("livez") { _, _ in response(health.stall()) }
                router.get("readyz") { _, _ in response(health.unreadiness) }
                router.get("metrics") { _, _ in
                    update()
                    return response(.ok, registry.text, type: ExpositionText.contentType)
                }
            })
    }

    private static func response(_ fault: String?) -> Response {
        guard let fault else { return response(.ok, "ok\n") }
        return response(.serviceUnavailable, fault + "\n")
    }

    private static func response(
        _ status: HTTPResponse.Status, _ text: String, type: String = "text/plain; charset=utf-8"
    ) -> Response {
        Response(
            status: status, headers: [.contentType: type],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}

package enum MonitoringError: Error, Equatable, CustomStringConvertible {
    /// `detail` is the system's error text.
    case cannotListen(ListenAddress, detail: String)

    package var description: String {
        switch self {
        case .cannotListen(let address, let detail):
            "metrics: cannot listen on \(address): \(detail): give another --metrics HOST:PORT, port 0 for any free one"
        }
    }
}

/// Whether a worker is alive and ready. Its loop reports, and `/livez` and `/readyz` ask.
package final class Health: Sendable {
    private struct State {
        var lastTurn: ContinuousClock.Instant
        var fault: String?
    }

    /// A loop without a turn for longer than this is stuck.
    static let stallSeconds = 60

    private let allowed: Duration
    private let state: Mutex<State>

    /// A starting worker, which is not ready. Its loop may wait `waitMilliseconds` for records; this extends the time
    /// after which it counts as stuck.
    package init(waitMilliseconds: Int, now: ContinuousClock.Instant = .now) {
        allowed = .seconds(Self.stallSeconds) + .milliseconds(waitMilliseconds)
        state = Mutex(State(lastTurn: now, fault: "no partition is assigned yet"))
    }

    /// Call it at every turn of the loop.
    package func turn(now: ContinuousClock.Instant = .now) {
        state.withLock { $0.lastTurn = now }
    }

    package func setReady(unless fault: String?) {
        state.withLock { $0.fault = fault }
    }

    /// Why the worker counts as stuck; nil while it is alive.
    func stall(now: ContinuousClock.Instant = .now) -> String? {
        let rested = state.withLock { $0.lastTurn }.duration(to: now)
        guard rested > allowed else { return nil }
        return "the worker's loop has been stuck for \(rested.components.seconds) s"
    }

    /// Nil if the worker is ready.
    package var unreadiness: String? { state.withLock { $0.fault } }
}
