import Engine
import EventLog
import Foundation
import Program
import Store
import Streams

/// One stream's part of a promotion.
struct StreamPromotion<Fold: StreamFold> {
    let order: PromotionOrder
    /// The directory of the store in force.
    let from: String
    /// The directory of the store that replaces it.
    let to: String
    /// Whether the new store was in force before: it continues under its own configuration.
    let wasInForce: Bool

    private var stream: String { Fold.streamName }
    private var oldPath: String { "\(from)/\(stream).sqlite" }
    private var newPath: String { "\(to)/\(stream).sqlite" }

    /// The relevant state of a store.
    private struct StoreState {
        var topic: String
        var logIdentity: String
        var states: [Int32: PartitionState]
        /// The group's offsets of partitions for which the topic of documents was read after a restore.
        var readUpTo: [Int32: Int64] = [:]
        /// Records that were erased before they were folded.
        var erased: Int64
        /// Published offsets by partition.
        var published: [Int32: (outbox: Int64, deadLetters: Int64)] = [:]

        /// Whether documents of records below an offset are unknown.
        func isBehind(_ offset: Int64, of partition: Int32) -> Bool {
            offset > max(states[partition]?.nextOffset ?? 0, readUpTo[partition] ?? 0)
        }
    }

    private func state(_ path: String) throws -> StoreState {
        try StoreReader(path: path).snapshot { snapshot in
            let states = try snapshot.partitionStates()
            return StoreState(
                topic: snapshot.topic, logIdentity: snapshot.logIdentity,
                states: Dictionary(uniqueKeysWithValues: states.map { ($0.partition, $0) }),
                erased: try snapshot.erasedRecords(),
                published: try states.reduce(into: [:]) {
                    $0[$1.partition] = try snapshot.publishedOffsets(of: $1)
                })
        }
    }

    /// The state of the store in force.
    private func oldState() throws -> StoreState {
        var old = try state(oldPath)
        guard Fold.emits else { return old }
        do throws(StoreError) {
            for reading in try CorrectionStore(directory: from)?.readings() ?? [] {
                old.readUpTo[reading.partition] = reading.nextOffset
            }
        } catch {
            guard case .emptied = error, order.acceptsLostHistory else { throw error }
        }
        return old
    }

    /// Whether there is a store to replace.
    var hasOld: Bool { FileManager.default.fileExists(atPath: oldPath) }

    /// Rejects a promotion that would lose data, and returns how far the new store is behind.
    func check() throws -> PromotedStream {
        guard Fold.isConfigured(in: order.source.pipelines) else {
            throw PromotionError.noWorker(stream: stream, pipelines: order.source.pipelines.path)
        }
        var promoted = PromotedStream(stream: stream, from: from, to: to, behind: 0)
        // Its worker may continue during the check, so the group's published offsets are read before the store that
        // published them.
        let published = try publishedDocuments()
        guard hasOld else {
            try requireKnown(published, by: nil)
            for (number, state) in try state(newPath).states.sorted(by: { $0.key < $1.key })
            where state.firstOffset > 0 && !order.acceptsLostHistory {
                throw PromotionError.lostBeginning(
                    store: newPath, partition: number, first: state.firstOffset)
            }
            return promoted
        }
        let (old, new) = (try oldState(), try state(newPath))
        guard old.topic == new.topic, old.logIdentity == new.logIdentity else {
            throw PromotionError.otherLog(stream: stream, old: oldPath, new: newPath)
        }
        promoted.erased = max(0, new.erased - old.erased)
        for (number, state) in old.states.sorted(by: { $0.key < $1.key }) {
            let other = new.states[number]
            let isWhole = other.map { $0.firstOffset <= state.firstOffset } ?? false
            guard isWhole || order.acceptsLostHistory else {
                throw PromotionError.lessHistory(
                    store: newPath, partition: number, first: other?.firstOffset,
                    wanted: state.firstOffset)
            }
            if let other { promoted.behind += max(0, state.nextOffset - other.nextOffset) }
        }
        try requireKnown(published, by: old)
        return promoted
    }

    /// Throws if published documents are unknown to the present store.
    private func requireKnown(
        _ published: [Int32: Int64], by old: StoreState?
    ) throws {
        guard !order.acceptsLostHistory,
            let first = published.filter({ old?.isBehind($0.value, of: $0.key) ?? ($0.value > 0) })
                .min(by: <)
        else { return }
        throw PromotionError.unknownDocuments(
            store: oldPath, data: order.data, isThere: hasOld, partition: first.key,
            next: old?.states[first.key]?.nextOffset, published: first.value)
    }

    /// The offset of each partition below which the group has published all documents.
    private func publishedDocuments() throws -> [Int32: Int64] {
        guard Fold.emits, let reader = try groupReader() else { return [:] }
        defer { reader.close() }
        return try reader.committedOffsets().mapValues(\.next)
    }

    /// A reader of the topic, as a member of the worker's group that reads nothing; nil for an archive, which has no
    /// groups.
    private func groupReader() throws -> (any LogReader)? {
        let settings = try Fold.file(in: order.source.pipelines).settings
        let log = try order.source.openLog(settings)
        guard
            let topic = try log.topics().first(where: { $0.name == settings.topic }),
            !topic.isArchive
        else { return nil }
        return try log.reader(topic: settings.topic, group: settings.group)
    }

    /// Deletes the snapshots of the partitions of both stores.
    func deleteSnapshots() throws {
        guard let root = try Fold.file(in: order.source.pipelines).settings.snapshots else {
            return
        }
        let paths = hasOld ? [oldPath, newPath] : [newPath]
        for partition in Set(try paths.flatMap { try state($0).states.keys }).sorted() {
            try SnapshotDirectory(root: root, stream: stream, partition: partition).deleteAll()
        }
    }

    /// Publishes everything that the old store has not noted as published, as its worker would. A process that was
    /// killed before the note may already have published some, so the new store must not give their numbers to other
    /// documents. The caller has released the store's lock.
    func publishRest(_ corrections: CorrectionStore?, stop: StopSignal) throws {
        guard hasOld, case let old = try state(oldPath),
            old.published.contains(where: { number, published in
                min(published.outbox, published.deadLetters) < old.states[number]?.nextOffset ?? 0
            })
        else { return }
        let isDone = try Fold.publishRest(
            of: oldPath,
            to: try order.source.openLog(Fold.file(in: order.source.pipelines).settings),
            in: order.source.pipelines, corrections: corrections, stop: stop)
        guard isDone else { throw PromotionError.stopped }
    }

    /// Continues folding until the new store has reached the progress of the old one.
    func catchUp(stop: StopSignal) throws {
        guard hasOld else { return }
        let (old, new) = (try oldState(), try state(newPath))
        var ends: [Int32: Int64] = [:]
        for (number, state) in old.states where new.states[number] != nil {
            ends[number] = max(state.nextOffset, old.readUpTo[number] ?? 0)
        }
        let isBehind = ends.contains { $0.value > new.states[$0.key]?.nextOffset ?? 0 }
        if isBehind {
            let replay = try StreamReplay<Fold>(replayOrder, stop: stop)
            let reader = try replay.openReader()
            defer { reader.close() }
            let end = try replay.run(to: ends, under: configurations(replay, reader))
            guard end == .reachedEnd else { throw PromotionError.stopped }
        }
        let reached = try state(newPath).states
        for (number, end) in ends.sorted(by: { $0.key < $1.key }) {
            let next = reached[number]?.nextOffset ?? 0
            guard next >= end else {
                throw PromotionError.behind(
                    store: newPath, partition: number, next: next, wanted: end,
                    earliest: try earliestOffset(of: number))
            }
        }
    }

    private func earliestOffset(of partition: Int32) throws -> Int64 {
        let reader = try StreamReplay<Fold>(replayOrder, stop: StopSignal()).openReader()
        defer { reader.close() }
        return try reader.bounds(of: [partition]).first?.earliestOffset ?? 0
    }

    private var manifest: ReplayManifest? {
        get throws { wasInForce ? nil : try ReplayManifest.read(in: to) }
    }

    private var replayOrder: ReplayOrder {
        get throws {
            var source = order.source
            source.archivePath = try source.archivePath ?? manifest?.archive
            return ReplayOrder(
                source: source, dataDirectories: [order.data], directory: to,
                mode: try manifest?.mode ?? .recorded, threadCount: order.threadCount,
                showsProgress: true)
        }
    }

    /// A set that was replayed as recorded follows the old store; any other one its own last configuration.
    private func configurations(
        _ replay: StreamReplay<Fold>, _ reader: any LogReader
    ) throws -> ReplayConfigurations {
        if try manifest?.mode == .recorded { return try replay.configurations(reader) }
        let own = try StoreReader(path: newPath).snapshot { snapshot in
            try snapshot.partitionStates().compactMap {
                try snapshot.epochs(of: $0.partition).last?.configuration
            }.first
        }
        guard let own else {
            return .own(
                otherwise: try Fold.rules(in: order.source.pipelines).configuration)
        }
        return .own(otherwise: own)
    }

    /// Makes everything published from the old store count as published for the new one, which publishes the rest.
    /// Returns the offsets, by partition, from which it does so, and why the worker would reject the store.
    func takeOver() throws -> (boundaries: [Int32: Int64], refusal: String?) {
        let documents = try publishedDocuments()
        let old = hasOld ? try oldState() : nil
        let new = try state(newPath)
        let store = try AggregateStore(
            path: newPath, fold: Fold.self, topic: new.topic,
            logIdentity: new.logIdentity, partitionCount: 0)
        var boundaries: [Int32: Int64] = [:]
        for (number, published) in old?.published ?? [:] where new.states[number] != nil {
            let isBehind = old?.isBehind(documents[number] ?? 0, of: number) ?? false
            let read = old?.readUpTo[number] ?? 0
            let outbox = max(published.outbox, read)
            if !isBehind { boundaries[number] = outbox }
            try store.takeOverEmission(
                partition: number, from: outbox, deadLetters: max(published.deadLetters, read))
        }
        return (boundaries, try store.snapshot(faultInHistory))
    }

    /// Offsets from which the new store would publish by itself, at the present progress of both.
    func boundaries() throws -> [Int32: Int64] {
        guard hasOld else { return [:] }
        let documents = try publishedDocuments()
        let (old, new) = (try oldState(), try state(newPath))
        return old.published.reduce(into: [:]) { boundaries, published in
            guard let state = new.states[published.key],
                !old.isBehind(documents[published.key] ?? 0, of: published.key)
            else { return }
            boundaries[published.key] = min(
                max(published.value.outbox, old.readUpTo[published.key] ?? 0), state.nextOffset)
        }
    }

    /// Why its worker will reject the new store; nil if it will not.
    func refusal() throws -> String? { try StoreReader(path: newPath).snapshot(faultInHistory) }

    private func faultInHistory(of store: StoreSnapshot) throws -> String? {
        let present = try? Fold.rules(in: order.source.pipelines).configuration
        return try present?.faultInHistory(of: store)?.description
    }
}

extension StreamFold {
    static func promotion(
        _ order: PromotionOrder, from: String, to: String, wasInForce: Bool
    ) -> any StreamPromoting {
        StreamPromotion<Self>(order: order, from: from, to: to, wasInForce: wasInForce)
    }
}

/// The operations of a promotion on each stream.
protocol StreamPromoting {
    var hasOld: Bool { get }
    func check() throws -> PromotedStream
    func refusal() throws -> String?
    func catchUp(stop: StopSignal) throws
    func publishRest(_ corrections: CorrectionStore?, stop: StopSignal) throws
    func takeOver() throws -> (boundaries: [Int32: Int64], refusal: String?)
    func deleteSnapshots() throws
    func boundaries() throws -> [Int32: Int64]
}

extension StreamPromotion: StreamPromoting {}
