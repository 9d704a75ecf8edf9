import EventLog
import Foundation
import PartnerPostbacks

/// Checks what became of documents for partners: that nothing waits for an operator.
struct DeliveryCheck {
    let path: String
    private let directory: String

    /// The store of deliveries of a directory; nil when there is none.
    init?(in directory: String) {
        self.directory = directory
        path = DeliveryStore.path(in: directory)
        guard FileManager.default.fileExists(atPath: path) else { return nil }
    }

    /// Opens the store and compares it with the log, where there is one.
    func run(_ log: (any LogBackend)?, topic configured: String?, into report: inout CheckReport) {
        do {
            let store = try DeliveryStore(existing: path)
            let faults =
                try originFaults(of: store, log, configured) + disabledPartners(in: store)
                + deadDeliveries(in: store)
            for fault in faults { report.note(wrong: "\(path): \(fault)") }
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

    private func originFaults(
        of store: DeliveryStore, _ log: (any LogBackend)?, _ configured: String?
    ) throws -> [String] {
        let origin = try store.origin()
        if let configured, configured != origin.topic {
            return [
                "it delivers topic \(origin.topic), and partner-postbacks.yaml says \(configured): "
                    + "give --data another directory, or mend partner-postbacks.yaml"
            ]
        }
        let nextOffsets = try store.nextOffsets().sorted { $0.key < $1.key }
        return try log.map {
            try LogOrigin(topic: origin.topic, identity: origin.logIdentity).faults(
                of: nextOffsets.map { ($0.key, $0.value) }, in: $0)
        } ?? []
    }

    private func disabledPartners(in store: DeliveryStore) throws -> [String] {
        try store.disabledPartners().map { partner in
            "partner \(partner) is disabled, since it answered 410: ask it, mend its url, or weir "
                + "deliveries retry --partner \(partner) --data \(directory)"
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

    /// By partner.
    private func counts(
        of state: DeliveryState, in store: DeliveryStore
    ) throws -> [(partner: String, count: Int)] {
        try store.counts().filter { $0.state == state }.map { ($0.partner, $0.count) }
    }
}
