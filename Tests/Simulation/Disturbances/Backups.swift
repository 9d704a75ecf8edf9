import CSimulatedSystem
import DatabaseFiles
import Deliveries
import Foundation
import Store

extension Simulation {
    func backUp(_ worker: SimulatedWorker) throws -> Bool {
        let store = try storePath(of: worker)
        guard FileManager.default.fileExists(atPath: store) else { return false }
        let directory = "\(root)/disks/backups"
        weir_sim_enter(0)
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        let copy = "\(directory)/\(worker.name).sqlite"
        for suffix in ["", "-journal", "-wal", "-shm"] { unlink(copy + suffix) }
        backups[worker.name] = nil
        guard try runOperator({ try FileCopy.write(store, to: copy) }) else { return true }
        backups[worker.name] = (copy, worker.windows)
        cluster.cover(.backedUp)
        note("the store of \(worker.name) is copied")
        return true
    }

    private func storePath(of worker: SimulatedWorker) throws -> String {
        isDelivering(worker)
            ? DeliveryStore.path(in: worker.directory)
            : try Comparison.storePath(worker.directory, worker.program.topic)
    }

    /// The machine was lost: another one begins with the last copy of its store.
    func restore(_ worker: SimulatedWorker) throws -> Bool {
        guard let (copy, windows) = backups[worker.name] else { return false }
        kill(worker)
        try worker.moveStoresAway()
        try FileManager.default.createDirectory(
            atPath: worker.directory, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            atPath: copy, toPath: storePath(of: worker))
        worker.windows = windows
        if isDelivering(worker) {
            partners.forgetSettled(worker.name, isShared: deliverers.count > 1)
        }
        restored.insert(worker.name)
        cluster.cover(.restored)
        note("\(worker.name) goes on with the copy of its store")
        return true
    }
}
