import EventLog
import Foundation
import Program
import Store
import Streams

/// Puts a set of stores in force in place of another, while workers and readers continue.
///
/// Workers are asked to release their stores, which they do between two batches. The set is folded until it has
/// reached their progress, the differences for partners are written down, and one file is replaced. Before the
/// replacement the old set is in force, after it the new one, even if the process crashes.
package final class Promotion {
    private static let pauseMicroseconds: UInt32 = 20_000
    /// The time after which the program reports what it waits for.
    private static let quietWait = Duration.seconds(3)

    private let order: PromotionOrder
    private var sets: PromotionJournal
    private let kind: StorePromotion.Kind
    /// The directory of each stream's new store, by the names of the streams.
    private let targets: [String: String]

    /// Determines which store replaces which. Throws `PromotionError` if the directory is not a set.
    package init(_ order: PromotionOrder) throws {
        self.order = order
        sets = try PromotionJournal(settledIn: order.data)
        switch order.target {
        case .directory(let directory):
            targets = try Self.targets(in: directory, sets: sets)
            kind = Self.wasInForce(sets.set(at: directory), in: sets) ? .rollback : .promote
        case .upgraded(let directories):
            var all: [String: String] = [:]
            for directory in directories {
                all.merge(try Self.targets(in: directory, sets: sets)) { _, last in last }
            }
            targets = all
            kind = .promote
        case .back:
            targets = try Self.previous(sets, sendsCorrections: order.sendsCorrections)
            kind = .rollback
        }
    }

    private static func targets(
        in directory: String, sets: PromotionJournal
    ) throws -> [String: String] {
        let targets = try streams(in: directory, sets: sets)
        try requireWhole(
            sets.set(at: directory), in: directory, streams: targets.keys.sorted(), sets: sets)
        return targets
    }

    private static func streams(
        in directory: String, sets: PromotionJournal
    ) throws(PromotionError) -> [String: String] {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory),
            isDirectory.boolValue
        else { throw .notASet(directory, detail: "there is no such directory") }
        let set = sets.set(at: directory)
        let path = "\(directory)/\(ReplayManifest.fileName)"
        guard wasInForce(set, in: sets) || FileManager.default.fileExists(atPath: path) else {
            throw .notASet(directory, detail: "it has no \(ReplayManifest.fileName)")
        }
        let found = allStreams.map { $0.streamName }.filter { stream in
            FileManager.default.fileExists(atPath: "\(directory)/\(stream).sqlite")
        }
        guard !found.isEmpty else { throw .notASet(directory, detail: "it holds no store") }
        return Dictionary(uniqueKeysWithValues: found.map { ($0, directory) })
    }

    /// Rejects a set that is in force for another data directory, and a set of an unfinished replay that has not
    /// begun all stores.
    private static func requireWhole(
        _ set: String, in directory: String, streams: [String], sets: PromotionJournal
    ) throws {
        guard !sets.names(set), let manifest = try ReplayManifest.read(in: directory) else {
            return
        }
        // A set's stores continue the numbers and the corrections of a single data directory.
        if let other = manifest.promotedIn, other != ReplayManifest.absolute(sets.directory),
            case let others = try PromotionJournal(directory: other),
            others.names(others.set(at: directory))
        {
            throw PromotionError.ofOther(directory, data: other)
        }
        let begun = try streams.map { stream in
            try StoreReader(path: "\(directory)/\(stream).sqlite").snapshot { $0.topic }
        }
        let missing = manifest.topics.filter { !begun.contains($0) }
        guard missing.isEmpty else {
            throw PromotionError.unfinished(directory, missing: missing)
        }
    }

    /// The set before the present one. After a rollback that is the set that was just left. The same command must not
    /// put it back in force, and corrections of the rollback may still be due.
    private static func previous(
        _ sets: PromotionJournal, sendsCorrections: Bool
    ) throws(PromotionError) -> [String: String] {
        guard let last = sets.promotions.last else {
            throw .nothingToGoBackTo(data: sets.directory)
        }
        if sets.isBack {
            guard !sendsCorrections else { return last.streams.mapValues { sets.resolve($0.to) } }
            let move = last.streams.min { $0.key < $1.key }?.value
            throw .alreadyBack(
                inForce: sets.resolve(move?.to ?? ""), other: sets.resolve(move?.from ?? ""))
        }
        return last.streams.mapValues { sets.resolve($0.from) }
    }

    private static func wasInForce(_ set: String, in sets: PromotionJournal) -> Bool {
        set == "." || sets.promotions.contains { $0.streams.values.contains { $0.from == set } }
    }

    /// The streams with a change of store, in bytewise order; empty if the set is already in force.
    package var streams: [String] {
        targets.filter { sets.set(of: $0.key) != sets.set(at: $0.value) }.keys.sorted()
    }

    /// The directory with the corrections of the set; nil if it has no postbacks.
    package var correctionsDirectory: String? { targets[emittingStream] }

    /// Checks everything that can be checked while all programs continue, and returns the replacements.
    package func check() throws -> [PromotedStream] {
        try promotions.map {
            var promoted = try $0.value.check()
            promoted.refusal = try $0.value.refusal()
            return promoted
        }
    }

    /// The corrections at the present progress of both sets.
    package func forEachCorrection(_ body: (Correction) throws -> Void) throws {
        guard let postbacks = promotions.first(where: { $0.key == emittingStream }) else {
            return
        }
        try search(postbacks.value.boundaries(), body)
    }

    /// Puts the set in force.
    ///
    /// - Parameters:
    ///   - stop: requests an end, as long as the old set is in force.
    ///   - tell: receives the name of the process that the promotion waits for.
    ///   - onStep: called after each step; its error ends the promotion there.
    package func run(
        stop: StopSignal, tell: (String) -> Void = { _ in },
        onStep: (PromotionStep) throws -> Void = { _ in }
    ) throws -> [PromotedStream] {
        try catchUpBefore(stop: stop)
        // A sender may need long, and workers continue during that time.
        _ = try lockCorrections(stop: stop, tell: tell)
        let request = try PromotionRequest(directory: order.data)
        defer { withExtendedLifetime(request) {} }
        // Another promotion may have just changed the set in force.
        let before = sets
        sets = try PromotionJournal(settledIn: order.data)
        if case .back = order.target, sets.promotions != before.promotions {
            throw PromotionError.changedMeanwhile(data: order.data)
        }
        guard !streams.isEmpty else { return [] }
        for (directory, streams) in Dictionary(grouping: targets.keys, by: { targets[$0] ?? "" }) {
            try Self.requireWhole(
                sets.set(at: directory), in: directory, streams: streams.sorted(), sets: sets)
        }
        let promotions = promotions
        try onStep(.requested)
        var locks: [String: StoreLock] = [:]
        for (stream, _) in promotions {
            locks[stream] = try lock(sets.path(of: stream), stop: stop, tell: tell)
            // Folding the new store acquires its lock again.
            _ = try lock("\(targets[stream] ?? "")/\(stream).sqlite", stop: stop, tell: tell)
        }
        defer { withExtendedLifetime(locks) {} }
        let corrections = try lockCorrections(stop: stop, tell: tell)
        defer { withExtendedLifetime(corrections) {} }
        try onStep(.given)
        var promoted = try promotions.map { try $0.value.check() }
        for (_, promotion) in promotions {
            guard !stop.isRequested else { throw PromotionError.stopped }
            try promotion.catchUp(stop: stop)
        }
        try onStep(.caughtUp)
        for (stream, promotion) in promotions {
            locks[stream] = nil
            try promotion.publishRest(
                stream == emittingStream ? correctionsInForce() : nil, stop: stop)
            locks[stream] = try lock(sets.path(of: stream), stop: stop, tell: tell)
            // A worker of an earlier version may have used the store before the lock.
            try promotion.catchUp(stop: stop)
        }
        try onStep(.published)
        for directory in Set(targets.values).sorted() {
            try ReplayManifest.read(in: directory)?.add(promotionIn: order.data, in: directory)
        }
        var boundaries: [Int32: Int64] = [:]
        for (index, entry) in promotions.enumerated() {
            let taken = try entry.value.takeOver()
            promoted[index].refusal = taken.refusal
            if entry.key == emittingStream { boundaries = taken.boundaries }
        }
        try onStep(.takenOver)
        if let directory = correctionsDirectory, streams.contains(emittingStream) {
            let readings = try correctionsInForce()?.readings() ?? []
            try CorrectionStore.replace(in: directory) { write in try search(boundaries, write) }
            // The documents that were read from the topic are now known to the new set.
            if !readings.isEmpty {
                try CorrectionStore.record([], sent: [], readings, in: directory)
            }
        }
        try onStep(.corrected)
        guard !stop.isRequested else { throw PromotionError.stopped }
        // A worker must not continue from a snapshot of the old stores. It has released them, and takes none now.
        for (_, promotion) in promotions { try promotion.deleteSnapshots() }
        try sets.append(promotion)
        try onStep(.switched)
        return promoted
    }

    /// Folds the backlog while workers continue, so that they wait only for its end. A following replay does so by
    /// itself.
    private func catchUpBefore(stop: StopSignal) throws {
        for (_, promotion) in promotions {
            do {
                _ = try promotion.check()
                try promotion.catchUp(stop: stop)
            } catch let error as StoreError {
                guard case .locked = error else { throw error }
            }
        }
    }

    private var promotions: [(key: String, value: any StreamPromoting)] {
        streams.compactMap { stream in
            guard let program = Streams.stream(named: stream), let to = targets[stream]
            else { return nil }
            return (
                stream,
                program.promotion(
                    order, from: sets.directory(of: stream), to: to,
                    wasInForce: Self.wasInForce(sets.set(at: to), in: sets))
            )
        }
    }

    private var promotion: StorePromotion {
        let now = WallClock.milliseconds
        var isUpgrade = false
        if case .upgraded = order.target { isUpgrade = true }
        return StorePromotion(
            // The journal stays in order even if the clock jumps.
            atMilliseconds: max(now, (sets.promotions.last?.atMilliseconds ?? 0) + 1), kind: kind,
            streams: streams.reduce(into: [:]) { moves, stream in
                moves[stream] = StorePromotion.Move(
                    to: sets.set(at: targets[stream] ?? ""), from: sets.set(of: stream))
            }, isUpgrade: isUpgrade)
    }

    /// Locks the corrections of the set in force, so that none are sent between the comparison and the switch. Nil
    /// without corrections.
    private func lockCorrections(
        stop: StopSignal, tell: (String) -> Void
    ) throws -> StoreLock? {
        guard streams.contains(emittingStream) else { return nil }
        let path = CorrectionStore.path(in: sets.directory(of: emittingStream))
        return try lock(path, stop: stop, tell: tell)
    }

    /// Acquires the lock of a store once its worker has released it; nil without a store.
    private func lock(
        _ path: String, stop: StopSignal, tell: (String) -> Void
    ) throws -> StoreLock? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        let begin = ContinuousClock.now
        var isTold = false
        while true {
            do throws(StoreError) {
                return try StoreLock(storePath: path)
            } catch {
                guard case .locked(_, let owner) = error else { throw error }
                guard !stop.isRequested else { throw PromotionError.stopped }
                guard begin.duration(to: .now) < .seconds(order.patienceSeconds) else {
                    throw PromotionError.notGivenUp(
                        store: path, owner: owner, seconds: order.patienceSeconds)
                }
                if !isTold, begin.duration(to: .now) > Self.quietWait {
                    isTold = true
                    tell("waiting until \(path) is released\(owner)")
                }
                usleep(Self.pauseMicroseconds)
            }
        }
    }

    private func correctionsInForce() throws(StoreError) -> CorrectionStore? {
        do {
            return try CorrectionStore(of: emittingStream, in: sets)
        } catch {
            switch error {
            case .correctionsGone, .emptied:
                guard order.acceptsLostHistory else { throw error }
                return nil
            default: throw error
            }
        }
    }

    private func search(
        _ boundaries: [Int32: Int64], _ body: (Correction) throws -> Void
    ) throws {
        let stream = emittingStream
        guard let to = targets[stream], !boundaries.isEmpty else { return }
        let corrections = try correctionsInForce()
        let new = try StoreReader(path: "\(to)/\(stream).sqlite")
        try StoreReader(path: sets.path(of: stream)).snapshot { old in
            try new.snapshot { new in
                let search = CorrectionSearch(old: old, oldCorrections: corrections, new: new)
                for (partition, boundary) in boundaries.sorted(by: { $0.key < $1.key }) {
                    try search.forEachCorrection(of: partition, boundary: boundary, body)
                }
            }
        }
    }
}
