import ConfigurationFiles
import ConfigurationValues
import CoreMetrics
import EventLog
import Foundation
import HummingbirdCore
import Logging
import Monitoring
import Wording

/// The HTTP intake of Weir. Devices, Apple, exchanges and SDKs send postbacks, notifications, events and notices. The
/// collector answers 2xx only after the record is durable in the log.
///
/// A request passes the connections of `Monitoring`, `Server/`, `Routes/` (requests to records and answers), `Access/`
/// (producers' keys and signed tokens) and `Appending/` (many requests become one durable append). All of it runs on
/// its own threads, so that it can share a process with other parts.
///
/// ```swift
/// let collector = try Collector(
///     CollectorSettings(listen: ListenAddress(host: "127.0.0.1", port: 8080)),
///     log: log, metrics: nil, logger: logger)
/// defer { collector.stop() }
/// ```
package final class Collector: Sendable {
    /// The address with the actual port, if the configured one is 0.
    package var address: ListenAddress { listener.address }
    let appender: DurableAppender
    let routes: [CollectorRoute]
    private let access: CollectorAccess
    private let listener: HTTPListener
    private let metrics: CollectorMetrics
    private let drainSeconds: Int
    private let fault: @Sendable () -> String?

    /// Why it is not ready: the log does not acknowledge, or the reason from `fault`; nil if it is ready.
    var unreadiness: String? { appender.unreadiness ?? fault() }

    /// A standalone collector without further routes.
    package convenience init(
        _ settings: CollectorSettings, log: sending any LogBackend, metrics: (any MetricsFactory)?,
        logger: Logger
    ) throws {
        try self.init(settings, log: log, metrics: metrics, logger: logger, more: [])
    }

    /// Listens when it returns.
    ///
    /// - Parameters:
    ///   - log: only the collector uses it from now on.
    ///   - metrics: where it counts; nil for nowhere.
    ///   - fault: the reason for unreadiness besides the log, for `/readyz`.
    ///   - services: the other services of the process. `/readyz` names failed ones, and stays ready.
    ///   - more: further routes.
    /// - Throws: `CollectorError` or `LogError`.
    init(
        _ settings: CollectorSettings, log: sending any LogBackend, metrics: (any MetricsFactory)?,
        logger: Logger, fault: @escaping @Sendable () -> String? = { nil },
        services: @escaping @Sendable () -> [ServiceState] = { [] }, more: [CollectorRoute]
    ) throws {
        self.fault = fault
        let metrics = metrics.map { CollectorMetrics(factory: $0) } ?? .unwatched
        self.metrics = metrics
        let limits = settings.limits
        let appender = try DurableAppender(
            log, limits: limits.append, metrics: metrics, logger: logger)
        self.appender = appender
        let access = CollectorAccess(settings.access, tokenLifetimes: settings.tokenLifetimes)
        self.access = access
        drainSeconds = limits.drainSeconds
        do {
            let routes = more + Self.routes(settings, access, appender, fault, services)
            self.routes = routes
            let connections = GuardedConnections(
                limits.connections, maxBodyBytes: max(limits.maxBodyBytes, limits.maxBatchBytes),
                maxBodyBytesInFlight: limits.maxBodyBytesInFlight, trusted: settings.trustedProxies,
                counting: metrics)
            let responder = RequestResponder(
                routes: routes, limits: limits, connections: connections, metrics: metrics)
            listener = try Self.listener(settings, connections, responder, logger)
        } catch {
            appender.stop()
            throw error
        }
    }

    /// Listens for HTTP/1.1, with TLS or without, when it returns.
    private static func listener(
        _ settings: CollectorSettings, _ connections: GuardedConnections,
        _ responder: RequestResponder, _ logger: Logger
    ) throws(CollectorError) -> HTTPListener {
        let (address, threads) = (settings.listen, settings.threads)
        let plain = connections.channel(responder)
        do {
            guard let tls = settings.tls else {
                return try connections.listen(
                    at: address, threads: threads, over: plain, logger: logger)
            }
            return try connections.listen(
                at: address, threads: threads, over: tls.channel(plain), logger: logger)
        } catch {
            throw .cannotListen(address, detail: HTTPListeningError(error).detail)
        }
    }

    private static func routes(
        _ settings: CollectorSettings, _ access: CollectorAccess, _ appender: DurableAppender,
        _ fault: @escaping @Sendable () -> String?,
        _ services: @escaping @Sendable () -> [ServiceState]
    ) -> [CollectorRoute] {
        let readers = KeyReaders()
        let events = EventRoutes(
            appender: appender, readers: readers, access: access,
            maxBatchBytes: settings.limits.maxBatchBytes)
        let notices = NoticeRoutes(appender: appender, readers: readers, access: access)
        return PostbackRoutes(appender: appender, readers: readers).routes
            + StoreNotificationRoutes(appender: appender, readers: readers).routes
            + events.routes + notices.routes
            + TokenRoutes(appender: appender, readers: readers, access: access).routes
            + HealthRoutes.routes(
                unreadiness: { appender.unreadiness ?? fault() }, services: services)
    }

    /// Applies these rules to requests from now on.
    func use(_ access: CollectorPipeline.Access) {
        self.access.use(access)
    }

    /// Call it before the registry is printed.
    func updateMetrics() {
        metrics.update(depth: appender.depth)
    }

    /// Accepts no more requests, lets the present ones end, makes waiting records durable, and then returns.
    package func stop() {
        listener.stop(drainSeconds: Int64(drainSeconds))
        appender.stop()
    }
}

/// Why the collector does not start.
package enum CollectorError: OperatorError, Equatable {
    /// `detail` is the system's error text.
    case cannotListen(ListenAddress, detail: String)
    case badCertificate(file: String, detail: String)
    /// `tls` is configured, and the program was built without it.
    case builtWithoutTLS(file: String, line: Int)

    package var description: String {
        switch self {
        case .cannotListen(let address, let detail):
            "cannot listen on \(address): \(detail): give another --listen HOST:PORT, port 0 for any free one"
        case .badCertificate(let file, let detail):
            "\(file) cannot be used for TLS: \(detail): give PEM files of a certificate chain and of its key"
        case .builtWithoutTLS(let file, let line):
            "\(file):\(line): tls: this program was built without TLS, as ops/run does: use the package, build with "
                + "swift build, or remove tls and put a proxy with TLS in front"
        }
    }
}
