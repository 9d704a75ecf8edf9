import EventLog
import Foundation
import HummingbirdTLS
import Logging
import Monitoring
import Pipelines

/// Takes in what devices, Apple, exchanges and SDKs send by HTTP, and answers 2xx once the log has it
/// durably. It works on threads of its own, so that it runs beside anything else in a process.
package final class Collector: Sendable {
    /// Makes further routes. What they append goes through the appender that they are given.
    package typealias MoreRoutes = (DurableAppender) throws -> [CollectorRoute]

    /// Where it listens, with the port that was picked.
    package var address: ListenAddress { server.address }
    /// What appends to the log.
    package let appender: DurableAppender
    /// All that it answers.
    let routes: [CollectorRoute]
    private let access: CollectorAccess
    private let server: CollectorServer
    private let metrics: CollectorMetrics
    private let drainSeconds: Int64
    private let fault: @Sendable () -> String?

    /// Why it is of no use now: the log does not acknowledge, or what its maker says; nil when it is.
    package var unreadiness: String? { appender.unreadiness ?? fault() }

    /// Listens when it returns.
    ///
    /// - Parameters:
    ///   - settings: what it takes and from whom.
    ///   - log: is used by the collector alone from now on.
    ///   - registry: where it counts; nil for nowhere.
    ///   - fault: why it is of no use for another reason than the log, for `/readyz`.
    ///   - parts: what runs beside it; `/readyz` names those that have failed, and is none the less ready.
    ///   - more: further routes, which go before its own where they are the same.
    /// - Throws: `CollectorError`, `LogError`, or what `more` throws.
    package init(
        _ settings: CollectorSettings, log: sending any LogBackend, registry: MetricRegistry?,
        logger: Logger, fault: @escaping @Sendable () -> String? = { nil },
        parts: @escaping @Sendable () -> [ProgramPart] = { [] },
        more: MoreRoutes = { _ in [] }
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
            let routes = try more(appender) + Self.routes(settings, access, appender, fault, parts)
            self.routes = routes
            let addresses = AddressLimit(maxCount: limits.maxConnectionsPerAddress)
            let proxies = TrustedProxies(settings.trustedProxies)
            let responder = RequestResponder(
                routes: routes, limits: limits, addresses: addresses, proxies: proxies,
                metrics: metrics)
            server = try CollectorServer(
                at: settings.listen, threads: settings.threads, tls: settings.tls, limits: limits,
                metrics: metrics, logger: logger,
                makeGuard: {
                    ConnectionGuard(
                        limits: limits, addresses: addresses, proxies: proxies, metrics: metrics)
                },
                respond: { try await responder.respond(to: $0, $1, $2) })
        } catch {
            appender.stop()
            throw error
        }
    }

    private static func routes(
        _ settings: CollectorSettings, _ access: CollectorAccess, _ appender: DurableAppender,
        _ fault: @escaping @Sendable () -> String?,
        _ parts: @escaping @Sendable () -> [ProgramPart]
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

    /// From now on these may send, and no others.
    package func use(_ access: CollectorPipeline.Access) {
        self.access.use(access)
    }

    /// To be called before the metrics of its registry are printed.
    package func updateMetrics() {
        metrics.update(depth: appender.depth)
    }

    /// Accepts no more, lets requests end, makes durable what waits, and returns when all of it is done.
    package func stop() {
        server.stop(drainSeconds: drainSeconds)
        appender.stop()
    }
}
