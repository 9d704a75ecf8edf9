import CSimulatedSystem
import Deliveries
import Foundation
import Store

// An operator sees that partners are well, and retries what they have refused.

extension Disturbance {
    static let ofPartners = [FaultKind.partnerRefuses, .partnerShut].map { kind in
        Disturbance(kind) { try $0.retryRefused() }
    }
}

extension Simulation {
    /// Not while the worker may go on with a copy from before.
    fileprivate func retryRefused() throws -> Bool {
        let steady = deliverers.filter { backups[$0.name] == nil && !restored.contains($0.name) }
        guard let deliverer = steady.count > 1 ? one(of: steady) : steady.first else {
            return false
        }
        let path = DeliveryStore.path(in: deliverer.directory)
        guard FileManager.default.fileExists(atPath: path) else { return false }
        weir_sim_enter(0)
        _ = try DeliveryStore(existing: path).retryRefused(by: partners, at: deliverer.name)
        note("an operator retries what partners have refused")
        return true
    }
}

extension SimulatedWorker {
    /// The store of one that delivers.
    var deliveries: DeliveryStore {
        get throws { try DeliveryStore(existing: DeliveryStore.path(in: directory)) }
    }
}

extension DeliveryStore {
    /// What the operator does who sees that partners are well: retries what they have refused. Returns how many
    /// deliveries still wait.
    func retryRefused(by partners: SimulatedPartners, at name: String) throws -> Int {
        let dead = try deliveries(state: .dead, limit: .max)
        for delivery in dead
        where !delivery.partner.isEmpty && !partners.mayBeDead(delivery.idempotencyKey, at: name) {
            throw SimulationFault(
                "\(delivery.idempotencyKey) is dead without a reason: \(delivery.reason)")
        }
        var retried = Set(dead.map(\.idempotencyKey))
        let now = weir_sim_now() / 1_000_000
        for partner in try disabledPartners() {
            let pending = try deliveries(partner: partner.name, state: .pending, limit: .max)
            retried.formUnion(pending.map(\.idempotencyKey))
            _ = try retry(.partner(partner.name), nowMilliseconds: now)
            partners.reopen(partner.name, by: name)
        }
        _ = try retry(.allDead, nowMilliseconds: now)
        // A revision below another one is left.
        let left = try deliveries(state: .dead, limit: .max).map(\.idempotencyKey)
        partners.reset(retried.subtracting(left), by: name)
        return try waiting().count
    }
}
