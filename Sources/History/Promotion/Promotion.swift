import EventLog
import Foundation
import Program
import Store
import Streams

/// Puts a set of stores in force in the place of another, while workers and readers go on.
///
/// Workers are asked to give their stores up, which they do between two batches. The set is folded until it
/// is as far as they were, what differs for partners is written down, and one file is replaced: before that
/// the old set is in force, after it the new one, whatever happens.
package final class Promotion {
    private static let pauseMicroseconds: UInt32 = 20_000
    /// Who is waited for is told after so long.
    private static let quietWait = Duration.seconds(3)

    private let order: PromotionOrder
    private var sets: PromotionJournal
    private let kind: StorePromotion.Kind
    /// The directory of each stream's new store, by the names of the streams.
    private let targets: [String: String]

    /// Finds out what is to take whose place. Throws `PromotionError` when the directory is no set.
    package init(_ order: PromotionOrder) throws {
        self.order = order
        sets = try PromotionJournal(settledIn: order.data)
        switch order.target {
        case .directory(let directory):
            targets = try Self.streams(in: directory, sets: sets)
            let set = sets.set(at: directory)
            try Self.requireWhole(set, in: directory, streams: targets.keys.sorted(), sets: sets)
            kind = Self.wasInForce(set, in: sets) ? .rollback : .promote
        case .back:
            targets = try Self.previous(sets, sendsCorrections: order.sendsCorrections)
            kind = .rollback
        }
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

    /// Refuses what another data directory goes on with, and what a replay that was killed, or is under way, has not begun
    /// all stores of.
    private static func requireWhole(
        _ set: String, in directory: String, streams: [String], sets: PromotionJournal
    ) throws {
        guard !sets.names(set), let manifest = try ReplayManifest.read(in: directory) else {
            return
        }
        // Its stores take over the numbers and the corrections of one data directory.
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

    /// The set before the present one. Behind a roll-back that is the set that was just left: nobody means
    /// to put it in force by the same words, while corrections of the roll-back may still be due.
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

    /// The streams whose store changes, in bytewise order; none when the set is in force already.
    package var streams: [String] {
        targets.filter { sets.set(of: $0.key) != sets.set(at: $0.value) }.keys.sorted()
    }

    /// The directory that holds the corrections of the set; nil when it has no postbacks.
    package var correctionsDirectory: String? { targets[emittingStream] }

    /// Checks what can be checked while everybody goes on, and says what would take whose place.
    package func check() throws -> [PromotedStream] {
        try promotions.map {
            var promoted = try $0.value.check()
            promoted.refusal = try $0.value.refusal()
            return promoted
        }
    }

    /// The corrections, as far as both sets are folded now.
    package func forEachCorrection(_ body: (Correction) throws -> Void) throws {
        guard let postbacks = promotions.first(where: { $0.key == emittingStream }) else {
            return
        }
        try search(postbacks.value.boundaries(), body)
    }

    /// Puts the set in force.
    ///
    /// - Parameters:
    ///   - stop: asks for an end while that leaves the old set in force.
    ///   - tell: is told whom is waited for.
    ///   - onStep: called behind each step; what it throws ends the promotion there.
    package func run(
        stop: StopSignal, tell: (String) -> Void = { _ in },
        onStep: (PromotionStep) throws -> Void = { _ in }
    ) throws -> [PromotedStream] {
        try catchUpBefore(stop: stop)
        // A sender may take long: workers go on meanwhile.
        _ = try lockCorrections(stop: stop, tell: tell)
        let request = try PromotionRequest(directory: order.data)
        defer { withExtendedLifetime(request) {} }
        // Whoever promoted just before may have changed what is in force.
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
            // That of the new store is taken again by whoever folds it on.
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
            // A worker of an earlier version may have had the store meanwhile.
            try promotion.catchUp(stop: stop)
        }
        try onStep(.published)
        for directory in Set(targets.values).sorted() {
            try ReplayManifest.read(in: directory)?.note(promotionIn: order.data, in: directory)
        }
        var boundaries: [Int32: Int64] = [:]
        for (index, entry) in promotions.enumerated() {
            let taken = try entry.value.takeOver()
            promoted[index].refusal = taken.refusal
            if entry.key == emittingStream { boundaries = taken.boundaries }
        }
        try onStep(.takenOver)
        if let directory = correctionsDirectory, streams.contains(emittingStream) {
            try CorrectionStore.replace(in: directory) { write in try search(boundaries, write) }
        }
        try onStep(.corrected)
        guard !stop.isRequested else { throw PromotionError.stopped }
        try sets.append(promotion)
        try onStep(.switched)
        return promoted
    }

    /// Folds what is left while workers go on, so that they wait for the last of it only. A replay that
    /// follows does so by itself.
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
        return StorePromotion(
            // The journal is in order, whatever the clock says.
            atMilliseconds: max(now, (sets.promotions.last?.atMilliseconds ?? 0) + 1), kind: kind,
            streams: streams.reduce(into: [:]) { moves, stream in
                moves[stream] = StorePromotion.Move(
                    to: sets.set(at: targets[stream] ?? ""), from: sets.set(of: stream))
            })
    }

    /// Locks the corrections of the set in force, so that nobody sends any between the comparison and the switch. Nil when
    /// there are none.
    private func lockCorrections(
        stop: StopSignal, tell: (String) -> Void
    ) throws -> StoreLock? {
        guard streams.contains(emittingStream) else { return nil }
        let path = CorrectionStore.path(in: sets.directory(of: emittingStream))
        return try lock(path, stop: stop, tell: tell)
    }

    /// Takes the lock of a store as soon as its worker has given it up; nil when there is no store.
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
                    tell("waiting until \(path) is given up\(owner)")
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
