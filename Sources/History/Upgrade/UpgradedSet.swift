import ConfigurationValues
import DatabaseFiles
import Engine
import Foundation
import Program
import Store
import Streams

/// The new stores that an upgrade makes in one directory.
struct UpgradedSet {
    let stores: [StoreUpgrade]
    let replay: ReplayOrder
    /// For each stream, the parts of its configuration that are not as recorded. A fold under the recorded
    /// configurations has none.
    let configurationChanges: [String]

    var directory: String { replay.directory }

    /// Whether other sums than before are expected, because only the rules have changed.
    var allowsDifferences: Bool { replay.mode == .present && configurationChanges.isEmpty }
}

extension Upgrade {
    /// The set of an interrupted upgrade, or a new one.
    func begin(
        _ stores: [StoreUpgrade], _ mode: ReplayMode, tell: (String) -> Void
    ) throws -> UpgradedSet {
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
            } catch is ReplayError {
                // Begun for something else.
                continue
            }
            if let fault = try fault(of: stores, in: directory, mode) {
                tell(
                    "\(directory) cannot be continued (\(fault)): beginning a new set. You can delete \(directory)"
                )
                continue
            }
            let changes = mode == .present ? try configurationChanges(stores) : []
            for change in changes {
                tell("folding under the present configuration, which has changed: \(change)")
            }
            return UpgradedSet(stores: stores, replay: replay, configurationChanges: changes)
        }
    }

    /// Why an interrupted upgrade of the stores cannot be continued; nil if it can.
    private func fault(
        of stores: [StoreUpgrade], in directory: String, _ mode: ReplayMode
    ) throws -> String? {
        for store in stores {
            let fault = try Streams.stream(named: store.stream)?.fault(
                ofBegun: "\(directory)/\(store.stream).sqlite", for: store.path, mode,
                from: order.source)
            if let fault { return fault }
        }
        return nil
    }

    private func configurationChanges(_ stores: [StoreUpgrade]) throws -> [String] {
        try stores.compactMap { store in
            let changed = try Streams.stream(named: store.stream)?.changedConfiguration(
                since: store.path, in: order.source.pipelines)
            return changed.flatMap { names in
                names.isEmpty ? nil : "\(store.stream): \(names.joined(separator: ", "))"
            }
        }
    }

    /// Copies a store under its name only once it has its new measures.
    func copy(_ store: StoreUpgrade, into directory: String) throws {
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
}

extension StreamFold {
    /// Why an upgrade cannot continue a new store that it has begun; nil if it can, or without such a store.
    fileprivate static func fault(
        ofBegun path: String, for live: String, _ mode: ReplayMode, from source: ReplaySource
    ) throws -> String? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        let (states, isOfThisVersion, hashes) = try StoreReader(path: path).snapshot { store in
            let states = try store.partitionStates()
            let epochs = try states.flatMap { try store.epochs(of: $0.partition) }
            return (states, try store.difference().isNone, epochs.map(\.configuration.hash))
        }
        guard isOfThisVersion else { return "another version of Weir began it" }
        if mode == .present {
            let present = try rules(in: source.pipelines).configuration.hash
            guard hashes.allSatisfy({ $0 == present }) else {
                return "it was begun under another configuration"
            }
        }
        let begun = Dictionary(uniqueKeysWithValues: states.map { ($0.partition, $0) })
        let old = try StoreReader(path: live).snapshot { try $0.partitionStates() }
        let ends = Dictionary(uniqueKeysWithValues: old.map { ($0.partition, $0.nextOffset) })
        // The store in force may be an older copy by now.
        guard states.allSatisfy({ $0.nextOffset <= ends[$0.partition] ?? 0 }) else {
            return "it has more records than \(live)"
        }
        var wanted: [Int32: Int64] = [:]
        for state in old where state.records > 0 {
            let next = begun[state.partition]?.nextOffset ?? state.firstOffset
            if next < state.nextOffset { wanted[state.partition] = next }
        }
        return try firstGone(of: wanted, from: source).map {
            "the log no longer has offset \($0.offset) of partition \($0.partition)"
        }
    }

    /// The parts of the present configuration that differ from those under which a store was folded last, apart from the
    /// number of the rules.
    fileprivate static func changedConfiguration(
        since path: String, in pipelines: PipelineDirectory
    ) throws -> [String] {
        let present = try rules(in: pipelines).configuration
        return try StoreReader(path: path).snapshot { store in
            try store.partitionStates().reduce(into: Set<String>()) { names, state in
                guard let folded = try store.configurationOfLastRecord(of: state) else { return }
                names.formUnion(try present.parts(thatDifferFrom: folded))
            }
        }.sorted()
    }
}

extension FoldConfiguration {
    /// The names of the members of the text that differ, apart from the number of the rules.
    func parts(
        thatDifferFrom other: FoldConfiguration
    ) throws(RecordedConfigurationFault) -> Set<String> {
        let (own, others) = (try parts(), try other.parts())
        return Set(own.keys).union(others.keys).filter { own[$0] != others[$0] && $0 != "rules" }
    }

    private func parts() throws(RecordedConfigurationFault) -> [String: String] {
        try RecordedConfiguration.read(text) { whole throws(RecordedConfigurationFault) in
            var parts: [String: String] = [:]
            for member in try whole.members() { parts[member.name] = member.value.json }
            return parts
        }
    }
}
