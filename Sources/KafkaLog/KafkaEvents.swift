import CRdKafka
import Logging
import Synchronization

/// Callbacks of librdkafka: log lines and errors, rebalances, and delivery reports.
///
/// `@unchecked Sendable`: log lines and errors arrive on threads of librdkafka and touch only the logger, the atomic
/// flag and the lock's state; everything else happens on the polling thread.
final class KafkaEvents: @unchecked Sendable {
    /// Partitions that the group assigns or revokes.
    struct Rebalance {
        var isAssignment: Bool
        var partitions: [Int32]
    }

    let logger: Logger
    /// Rebalances that were not handled yet.
    var rebalances: [Rebalance] = []
    /// Whether this group member has never been assigned a share, not even an empty one.
    var isWaitingForFirstShare = false
    /// True once the consumer closes: it then releases revoked partitions at once.
    var isClosing = false
    /// The records being published.
    var deliveries = KafkaDeliveries()
    private let failed = Atomic<Bool>(false)
    /// Why brokers rejected a connection, since the last `takeSignInFailure`.
    private let signInFailure = Mutex<String?>(nil)

    init(logger: Logger) {
        self.logger = logger
    }

    /// Whether librdkafka reported a fatal error.
    var hasFailed: Bool { failed.load(ordering: .relaxed) }

    /// Returns each rejection once; nil without a new one.
    func takeSignInFailure() -> String? {
        signInFailure.withLock { failure in
            defer { failure = nil }
            return failure
        }
    }

    static func of(_ handle: OpaquePointer?) -> KafkaEvents? {
        rd_kafka_opaque(handle).map(of)
    }

    static func of(_ opaque: UnsafeMutableRawPointer) -> KafkaEvents {
        Unmanaged<KafkaEvents>.fromOpaque(opaque).takeUnretainedValue()
    }

    /// Registers the callbacks with a configuration.
    static func listen(_ configuration: OpaquePointer, isConsumer: Bool) {
        rd_kafka_conf_set_log_cb(configuration) { handle, level, facility, line in
            guard let handle, let facility, let line else { return }
            KafkaEvents.of(handle)?.log(
                level, String(cString: facility), String(cString: line))
        }
        rd_kafka_conf_set_error_cb(configuration) { handle, code, explanation, opaque in
            guard let opaque else { return }
            KafkaEvents.of(opaque).fail(rd_kafka_resp_err_t(code), explanation)
        }
        if isConsumer {
            rd_kafka_conf_set_rebalance_cb(configuration) { handle, code, partitions, opaque in
                guard let handle, let partitions, let opaque else { return }
                KafkaEvents.of(opaque).rebalance(handle, code, partitions)
            }
        } else {
            rd_kafka_conf_set_dr_msg_cb(configuration) { _, message, opaque in
                guard let message, let opaque else { return }
                KafkaEvents.of(opaque).deliveries.handle(message.pointee)
            }
        }
    }

    private func log(_ level: Int32, _ facility: String, _ line: String) {
        // Consumers and producers get the same settings.
        guard facility != "CONFWARN" || !line.contains("property and will be ignored") else {
            return
        }
        let level: Logger.Level =
            switch level {
            case ...3: .error
            case 4: .warning
            case 5, 6: .info
            default: .debug
            }
        logger.log(level: level, "\(facility): \(line)")
    }

    private func fail(_ code: rd_kafka_resp_err_t, _ explanation: UnsafePointer<CChar>?) {
        if code == RD_KAFKA_RESP_ERR__FATAL { failed.store(true, ordering: .relaxed) }
        let name = String(cString: rd_kafka_err2name(code))
        let explanation = explanation.map { String(cString: $0) } ?? ""
        if code == RD_KAFKA_RESP_ERR__AUTHENTICATION || code == RD_KAFKA_RESP_ERR__SSL {
            signInFailure.withLock { $0 = explanation }
        }
        logger.warning("\(name): \(explanation)")
    }

    private func rebalance(
        _ handle: OpaquePointer, _ code: rd_kafka_resp_err_t,
        _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>
    ) {
        let isAssignment = code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS
        let partitions = (0..<Int(list.pointee.cnt)).map { list.pointee.elems[$0].partition }
        if isAssignment { isWaitingForFirstShare = false }
        guard !isClosing else {
            if !isAssignment { KafkaReader.unassign(handle, list) }
            return
        }
        // `read` returns already read records first. `rd_kafka_yield` would end the poll, but then librdkafka 2.0
        // drops the next record of the queue.
        rebalances.append(Rebalance(isAssignment: isAssignment, partitions: partitions.sorted()))
    }
}
