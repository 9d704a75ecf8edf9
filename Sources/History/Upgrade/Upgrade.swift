import Engine
import Foundation
import Program
import Reports
import Store
import Streams

/// The stores to upgrade.
package struct UpgradeOrder: Sendable {
    package var data: String
    package var source: ReplaySource
    package var threadCount: Int
    /// The time for workers to release their stores, in seconds.
    package var patienceSeconds: Int
    /// Whether new stores may have other numbers.
    package var acceptsDifferences: Bool
    package var showsProgress: Bool

    package init(
        data: String, source: ReplaySource, threadCount: Int, patienceSeconds: Int = 120,
        acceptsDifferences: Bool = false, showsProgress: Bool = false
    ) {
        self.data = data
        self.source = source
        self.threadCount = threadCount
        self.patienceSeconds = patienceSeconds
        self.acceptsDifferences = acceptsDifferences
        self.showsProgress = showsProgress
    }
}

/// The steps of an upgrade. If it is stopped after any of them, the same command continues.
package enum UpgradeStep: Hashable, Sendable {
    /// The directory of the new stores exists.
    case begun
    /// Stores to continue are copied, with their new measures.
    case copied
    /// The new stores have reached the progress of those in force.
    case folded
    case promoting(PromotionStep)

    package static let all = [begun, copied, folded] + PromotionStep.allCases.map(promoting)
}

/// Brings the stores in force to the tables and rules of this version: replays into sets of their own, a comparison and
/// a promotion. Workers and readers continue meanwhile.
package struct Upgrade {
    let order: UpgradeOrder

    package init(_ order: UpgradeOrder) {
        self.order = order
    }

    /// What each store in force needs. Throws without a store.
    package func plan() throws -> [StoreUpgrade] {
        let sets = try PromotionJournal(directory: order.data)
        let stores = try allStreams.compactMap {
            try $0.upgrade(of: sets.presentPath(of: $0.streamName), from: order.source)
        }
        guard !stores.isEmpty else { throw UpgradeError.noStore(data: order.data) }
        return stores
    }

    /// - Parameters:
    ///   - stop: requests an end, as long as the earlier stores are in force.
    ///   - tell: receives a line for each step that takes time.
    ///   - onStep: called after each step; its error ends the upgrade there.
    package func run(
        stop: StopSignal, tell: (String) -> Void = { _ in },
        onStep: (UpgradeStep) throws -> Void = { _ in }
    ) throws -> UpgradeResult {
        _ = try plan()
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        var result = UpgradeResult()
        result.stores = try plan()
        for store in result.stores where store.way == .inPlace {
            guard let program = Streams.stream(named: store.stream) else { continue }
            if try !program.changeInPlace(store.path) { result.waiting.append(store.path) }
        }
        let replaced = result.stores.filter { $0.way == .refold || $0.way == .extend }
        guard !replaced.isEmpty else { return result }
        var sets: [UpgradedSet] = []
        for mode in [ReplayMode.recorded, .present] {
            let stores = replaced.filter { $0.mode == mode }
            guard !stores.isEmpty else { continue }
            sets.append(try begin(stores, mode, tell: tell))
        }
        try onStep(.begun)
        for set in sets {
            for store in set.stores where store.way == .extend {
                try copy(store, into: set.directory)
            }
        }
        try onStep(.copied)
        for set in sets { try fold(set, stop: stop, tell: tell) }
        try onStep(.folded)
        try promote(sets, &result, stop: stop, tell: tell, onStep: onStep)
        return result
    }

    private func fold(_ set: UpgradedSet, stop: StopSignal, tell: (String) -> Void) throws {
        let run = try ReplayRun(set.replay, topics: set.stores.map(\.topic))
        for plan in try run.plan() where plan.records > 0 {
            let time = plan.seconds.map { ", about \(Int64($0.rounded(.up))) s" } ?? ""
            tell("\(plan.stream): folding \(plan.records) records\(time)")
        }
        guard try run.replay(follows: false, stop: stop).isDone else { throw UpgradeError.stopped }
    }

    /// Puts all sets in force at once, so that going back reverts all of them.
    private func promote(
        _ sets: [UpgradedSet], _ result: inout UpgradeResult,
        stop: StopSignal, tell: (String) -> Void, onStep: (UpgradeStep) throws -> Void
    ) throws {
        let promotion = try Promotion(
            PromotionOrder(
                data: order.data, target: .upgraded(sets.map(\.directory)), source: order.source,
                threadCount: order.threadCount, patienceSeconds: order.patienceSeconds))
        var differences: [String] = []
        result.promoted = try promotion.run(stop: stop, tell: tell) { step in
            // All sets are equally far, and the workers wait.
            if step == .caughtUp {
                differences = []
                for set in sets {
                    let found = try self.differences(of: set)
                    guard found.isEmpty || set.allowsDifferences || order.acceptsDifferences else {
                        throw UpgradeError.differs(
                            directory: set.directory, lines: found,
                            configuration: set.configurationChanges)
                    }
                    differences += found
                }
            }
            try onStep(.promoting(step))
        }
        result.differences = differences
    }

    /// One upgrade of a data directory at a time.
    func lock() throws -> StoreLock {
        do throws(StoreError) {
            return try StoreLock(storePath: "\(order.data)/upgrade")
        } catch {
            guard case .locked(_, let owner) = error else { throw error }
            throw UpgradeError.underWay(data: order.data, owner: owner)
        }
    }
}
