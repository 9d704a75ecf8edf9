import EventLog
import Foundation
import PartnerPostbacks
import Streams
import Worker

/// Checks the deliveries of a directory: that none waits for an operator.
struct DeliveryCheck {
    let path: String
    private let directory: String

    /// The store of deliveries of a directory; nil when there is none.
    init?(in directory: String) {
        self.directory = directory
        path = DeliveryStore.path(in: directory)
        guard FileManager.default.fileExists(atPath: path) else { return nil }
    }

    /// Opens the store and compares it with the log, if there is one, as its program does at its
    /// start.
    ///
    /// - Parameters:
    ///   - configured: the topic that the configuration names; nil for that of the store.
    ///   - now: the present, milliseconds since 1970.
    func run(
        _ log: (any LogBackend)?, topic configured: String?,
        nowMilliseconds now: Int64 = Int64(Date().timeIntervalSince1970 * 1000),
        into report: inout CheckReport
    ) {
        do {
            let store = try DeliveryStore(existing: path)
            let faults =
                try refusals(of: store, log, configured).map(\.description)
                + (disabledPartners(in: store) + deadDeliveries(in: store)).map { "\(path): \($0)" }
            for fault in faults { report.note(wrong: fault) }
            for misplaced in try store.misplaced(nowMilliseconds: now) {
                report.note(
                    doubtful: "\(path): \(misplaced.count) for \(misplaced.partner) wait until "
                        + "\(UTC.text(milliseconds: misplaced.untilMilliseconds)), longer than the "
                        + "schedule allows: the clock was ahead, or is behind now; they are due, and "
                        + "weir-partner-postbacks sends them once it runs")
            }
            for (partner, count) in try counts(of: .held, in: store) {
                report.note(
                    doubtful: "\(path): \(count) for \(partner) are held, and wait for you: see "
                        + "weir deliveries list --partner \(partner) --state held --data \(directory)"
                )
            }
            guard faults.isEmpty else { return }
            let delivered = try counts(of: .delivered, in: store).reduce(0) { $0 + $1.count }
            report.note(
                right: "deliveries \(path): \(delivered) delivered, "
                    + "\(try store.waiting().count) pending")
        } catch {
            report.note(wrong: "\(error)")
        }
    }

    private func refusals(
        of store: DeliveryStore, _ log: (any LogBackend)?, _ configured: String?
    ) throws -> [WorkerError] {
        guard let log else { return [] }
        let standing = try store.standing()
        let reader = try log.reader(topic: configured ?? standing.topic)
        defer { reader.close() }
        return try standing.refusals(of: reader, nextOffsets: store.nextOffsets())
    }

    private func disabledPartners(in store: DeliveryStore) throws -> [String] {
        try store.disabledPartners().map { partner in
            "partner \(partner.name) \(partner.words): \(partner.remedy) weir deliveries retry "
                + "--partner \(partner.name) --data \(directory)"
        }
    }

    private func deadDeliveries(in store: DeliveryStore) throws -> [String] {
        try counts(of: .dead, in: store).map { partner, count in
            guard !partner.isEmpty else {
                return "\(count) records are no documents: see weir deliveries list --state dead "
                    + "--data \(directory)"
            }
            return
                "\(count) for \(partner) are dead: see weir deliveries list --partner \(partner) "
                + "--state dead --data \(directory), then weir deliveries retry"
        }
    }

    private func counts(
        of state: DeliveryState, in store: DeliveryStore
    ) throws -> [(partner: String, count: Int)] {
        try store.counts().filter { $0.state == state }.map { ($0.partner, $0.count) }
    }
}
