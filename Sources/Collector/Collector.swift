import ConfigurationFiles
import ConfigurationValues
import EventLog
import Foundation
import HummingbirdTLS
import Logging
import Monitoring
import Wording

/// The HTTP intake of Weir. Devices, Apple, exchanges and SDKs send postbacks, notifications, events and notices. The
/// collector answers 2xx only after the record is durable in the log.
///
/// A request passes the connections of `Monitoring` and these folders:
///
/// - `Server/`
/// - `Limits/`: the bounds of bodies.
/// - `Routes/`: the answers, and the records for them.
/// - `Access/`: producers' keys and signed tokens.
/// - `Appending/`: one durable append for many requests.
///
/// All of it runs on its own threads, so that it can run beside other parts in one process.
///
/// ```swift
/// let collector = try Collector(
///     CollectorSettings(listen: ListenAddress(host: "127.0.0.1", port: 8080)),
///     log: log, registry: nil, logger: logger)
/// defer { collector.stop() }
/// ```
package final class Collector: Sendable {
    /// The real port, even if 0 was requested.
    package var address: ListenAddress { server.address }
    let appender: DurableAppender
    let routes: [CollectorRoute]
    private let access: CollectorAccess
    private let server: CollectorServer
    private let metrics: CollectorMetrics
    private let drainSeconds: Int
    private let fault: @Sendable () -> String?

    /// Why it is not ready: the log does not acknowledge, or the reason from `fault`; nil if it is ready.
    var unreadiness: String? { appender.unreadiness ?? fault() }

    /// A standalone collector without further routes.
    package convenience init(
        _ settings: CollectorSettings, log: sending any LogBackend, registry: MetricRegistry?,
        logger: Logger
    ) throws {
        try self.init(settings, log: log, registry: registry, logger: logger, more: [])
    }

    /// Listens when it returns.
    ///
    /// - Parameters:
    ///   - log: only the collector uses it from now on.
    ///   - registry: for its metrics; nil for none.
    ///   - fault: why it is unready for another reason than the log, for `/readyz`.
    ///   - parts: the other parts of the process. `/readyz` names failed ones, but stays ready.
    ///   - more: further routes. They win over the collector's own of the same method and path.
    /// - Throws: `CollectorError` or `LogError`.
    init(
        _ settings: CollectorSettings, log: sending any LogBackend, registry: MetricRegistry?,
        logger: Logger, fault: @escaping @Sendable () -> String? = { nil },
        parts: @escaping @Sendable () -> [ProgramPart] = { [] }, more: [CollectorRoute]
    ) throws {
        self.fault = fault
        let metrics = registry.map { CollectorMetrics(factory: $0) } ?? .unwatched
        self.metrics = metrics
        let limits = settings.limits
        let appender = try DurableAppender(
            log, limits: limits.append, metrics: metrics, logger: logger)
        self.appender = appender
        let access = CollectorAccess(settings.access, tokenLifetimes: settings.tokenLifetimes)
        self.access = access
        drainSeconds = limits.drainSeconds
        do {
            let routes = more + Self.routes(settings, access, appender, fault, parts)
            self.routes = routes
            let connections = GuardedConnections(
                limits.connections, maxBodyBytes: max(limits.maxBodyBytes, limits.maxBatchBytes),
                trusted: settings.trustedProxies, counting: metrics)
            let responder = RequestResponder(
                routes: routes, limits: limits, connections: connections, metrics: metrics)
            server = try CollectorServer(
                at: settings.listen, threads: settings.threads, tls: settings.tls,
                connections: connections, logger: logger,
                respond: { try await responder.respond(to: $0, $1, $2) })
        } catch {
            appender.stop()
            throw error
        }
    }

    private static func routes(
        _ settings: CollectorSettings, _ access: CollectorAccess, _ appender: DurableAppender,
        _ fault: @escaping @Sendable () -> String?, _ parts: @escaping @Sendable () -> [ProgramPart]
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
            + HealthRoutes.routes(unreadiness: { appender.unreadiness ?? fault() }, parts: parts)
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
        server.stop(drainSeconds: drainSeconds)
        appender.stop()
    }
}

/// Why the collector does not start.
package enum CollectorError: OperatorError, Equatable {
    /// `detail` is the system's error text.
    case cannotListen(ListenAddress, detail: String)
    case badCertificate(file: String, detail: String)

    package var description: String {
        switch self {
        case .cannotListen(let address, let detail):
            "cannot listen on \(address): \(detail): give another --listen HOST:PORT, port 0 for any free one"
        case .badCertificate(let file, let detail):
            "\(file) is of no use for TLS: \(detail): give PEM files of a certificate chain and of its key"
        }
    }
}
