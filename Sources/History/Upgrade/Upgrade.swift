import DatabaseFiles
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

/// The result of an upgrade.
package struct UpgradeResult: Sendable {
    package var stores: [StoreUpgrade] = []
    /// The replacements of stores.
    package var promoted: [PromotedStream] = []
    /// Measures with other sums than before: a line for each.
    package var differences: [String] = []
    /// Stores whose workers must restart to add the bookkeeping.
    package var waiting: [String] = []

    package init() {}
}

/// Brings the stores in force to the tables and rules of this version: a replay into a set of its own, a comparison and
/// a promotion. Workers and readers continue meanwhile.
package struct Upgrade {
    private let order: UpgradeOrder

    package init(_ order: UpgradeOrder) {
        self.order = order
    }

    /// What each store in force needs.
    package func plan() throws -> [StoreUpgrade] {
        let sets = try PromotionJournal(directory: order.data)
        return try allStreams.compactMap {
            try $0.upgrade(of: sets.presentPath(of: $0.streamName), from: order.source)
        }
    }

    /// - Parameters:
    ///   - stop: requests an end, as long as the earlier stores are in force.
    ///   - tell: receives a line for each step that takes time.
    ///   - onStep: called after each step; its error ends the upgrade there.
    package func run(
        stop: StopSignal, tell: (String) -> Void = { _ in },
        onStep: (UpgradeStep) throws -> Void = { _ in }
    ) throws -> UpgradeResult {
        var result = UpgradeResult()
        result.stores = try plan()
        for store in result.stores where store.way == .inPlace {
            guard let program = Streams.stream(named: store.stream) else { continue }
            if try !program.changeInPlace(store.path) { result.waiting.append(store.path) }
        }
        for mode in [ReplayMode.recorded, .present] {
            let stores = result.stores.filter {
                $0.mode == mode && ($0.way == .refold || $0.way == .extend)
            }
            guard !stores.isEmpty else { continue }
            try replace(stores, mode, &result, stop: stop, tell: tell, onStep: onStep)
        }
        return result
    }

    private func replace(
        _ stores: [StoreUpgrade], _ mode: ReplayMode, _ result: inout UpgradeResult,
        stop: StopSignal, tell: (String) -> Void, onStep: (UpgradeStep) throws -> Void
    ) throws {
        let replay = try begin(stores, mode)
        try onStep(.begun)
        for store in stores where store.way == .extend {
            try copy(store, into: replay.directory)
        }
        try onStep(.copied)
        let run = try ReplayRun(replay, topics: stores.map(\.topic))
        for plan in try run.plan() where plan.records > 0 {
            let time = plan.seconds.map { ", about \(Int64($0.rounded(.up))) s" } ?? ""
            tell("\(plan.stream): folding \(plan.records) records\(time)")
        }
        guard try run.replay(follows: false, stop: stop).isDone else { throw UpgradeError.stopped }
        try onStep(.folded)
        let promotion = try Promotion(
            PromotionOrder(
                data: order.data, target: .directory(replay.directory), source: order.source,
                threadCount: order.threadCount, patienceSeconds: order.patienceSeconds))
        var differences: [String] = []
        let promoted = try promotion.run(stop: stop, tell: tell) { step in
            // Both sets are equally far, and the workers wait.
            if step == .caughtUp {
                differences = try self.differences(stores, replay.directory)
                guard differences.isEmpty || mode == .present || order.acceptsDifferences else {
                    throw UpgradeError.differs(directory: replay.directory, lines: differences)
                }
            }
            try onStep(.promoting(step))
        }
        result.promoted += promoted
        result.differences += differences
    }

    /// The directory of the new stores: the one that an interrupted upgrade has begun, or a new one.
    private func begin(_ stores: [StoreUpgrade], _ mode: ReplayMode) throws -> ReplayOrder {
        let sets = try PromotionJournal(settledIn: order.data)
        var number = 1
        while true {
            let directory = "\(order.data)/sets/upgrade-\(number)"
            number += 1
            guard !sets.names(sets.set(at: directory)) else { continue }
            var replay = ReplayOrder(
                source: order.source, dataDirectories: [order.data], directory: directory,
                mode: mode, threadCount: order.threadCount, showsProgress: order.showsProgress)
            // A set that is further than the stores in force could not be compared with them.
            replay.endsAtStores = true
            do {
                try ReplayManifest(replay, topics: stores.map(\.topic)).begin(in: directory)
                guard try stores.allSatisfy({ try isUsable($0, in: directory) })
                else { continue }
                return replay
            } catch is ReplayError {
                // Begun for something else.
                continue
            }
        }
    }

    /// Whether the new store has the tables of this version, and is not further than the one in force, which may be an
    /// older copy by now.
    private func isUsable(_ store: StoreUpgrade, in directory: String) throws -> Bool {
        let path = "\(directory)/\(store.stream).sqlite"
        guard FileManager.default.fileExists(atPath: path) else { return true }
        let (new, isOfThisVersion) = try StoreReader(path: path).snapshot {
            (try $0.partitionStates(), try $0.difference().isNone)
        }
        let old = try StoreReader(path: store.path).snapshot { try $0.partitionStates() }
        return isOfThisVersion
            && new.allSatisfy { state in
                state.nextOffset
                    <= old.first { $0.partition == state.partition }?.nextOffset ?? 0
            }
    }

    /// Copies a store under its name only once it has its new measures.
    private func copy(_ store: StoreUpgrade, into directory: String) throws {
        let path = "\(directory)/\(store.stream).sqlite"
        guard !FileManager.default.fileExists(atPath: path) else { return }
        let new = path + ".copy"
        for file in [new, new + "-journal"] where FileManager.default.fileExists(atPath: file) {
            try FileManager.default.removeItem(atPath: file)
        }
        try StoreError.naming("copy", store.path) { try FileCopy.write(store.path, to: new) }
        try StoreContinuation.addMeasures(toCopy: new)
        try DurableFile.move(new, to: path)
    }

    /// The sums that differ, apart from measures that the earlier stores do not know. In dumps that list records, the
    /// texts of rows may differ between versions, so only their totals count.
    private func differences(
        _ stores: [StoreUpgrade], _ directory: String
    ) throws -> [String] {
        let unknown = stores.reduce(into: Set<String>()) { $0.formUnion($1.unknown) }
        let lists = Set(RefusalKind.allCases.map(\.rawValue))
        let found = try OpenStores(directories: [order.data]).diff(
            OpenStores(directories: [directory]), everyDumpBy: ReportRequest(name: ""))
        return found.table.rows.compactMap { row in
            let texts = row.map(\.plainText)
            guard texts.count >= 6, row[4] != .null,
                !unknown.contains("\(texts[0]).\(texts[1])"),
                texts[4] != texts[5] || !lists.contains(texts[0])
            else { return nil }
            let currency = texts[2].isEmpty ? "" : " \(texts[2])"
            return "\(texts[0]) \(texts[1])\(currency): \(texts[4]) before, \(texts[5]) now"
        }
    }

    /// Puts the stores of before the last promotion in force again.
    package func back(
        stop: StopSignal, tell: (String) -> Void = { _ in },
        onStep: (PromotionStep) throws -> Void = { _ in }
    ) throws -> [PromotedStream] {
        let promotion = try Promotion(
            PromotionOrder(
                data: order.data, target: .back, source: order.source,
                threadCount: order.threadCount, patienceSeconds: order.patienceSeconds))
        do {
            return try promotion.run(stop: stop, tell: tell, onStep: onStep)
        } catch let error as StoreError {
            guard case .otherColumns = error else { throw error }
            throw UpgradeError.cannotGoBack(detail: "\(error)")
        } catch let error as RecordedConfigurationFault {
            throw UpgradeError.cannotGoBack(detail: "\(error)")
        }
    }
}
