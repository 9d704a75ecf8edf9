import Engine
import Foundation
import Program
import Store
import Streams
import Wording

/// What a store in force needs, so that this version counts all of its measures in it.
package struct StoreUpgrade: Equatable, Sendable {
    package enum Way: String, Sendable {
        /// Nothing.
        case current
        /// Bookkeeping, which its worker adds at its next start.
        case inPlace = "in place"
        /// A fold of the whole log.
        case refold
        /// New measures from its next record on: the log no longer has its first records.
        case extend = "continue"
    }

    package var stream: String
    package var topic: String
    package var path: String
    package var way: Way
    /// Why; empty if it is current.
    package var reason: String
    /// The configurations for a fold of the log. Those recorded by another version's rules mean something else.
    package var mode: ReplayMode
    /// The measures that the store does not know, as `dump.measure`.
    package var unknown: Set<String>
}

/// Why a store is not upgraded: fault, place and remedy.
package enum UpgradeError: OperatorError, Equatable, Sendable {
    /// The store must be folded again, and its first records are gone.
    case recordsGone(
        store: String, reason: String, partition: Int32, first: Int64, earliest: Int64?)
    /// The new stores have other numbers.
    case differs(directory: String, lines: [String])
    /// Another version must put the earlier stores in force.
    case cannotGoBack(detail: String)
    case stopped

    package var description: String {
        switch self {
        case .recordsGone(let store, let reason, let partition, let first, let earliest):
            "\(store) must be folded again (\(reason)), and the log "
                + (earliest.map { "now begins partition \(partition) at offset \($0)" }
                    ?? "has no partition \(partition)")
                + ", after offset \(first) where the store begins: give --archive a copy that has these records, or keep the version of Weir that folded it"
        case .differs(let directory, let lines):
            "the new stores in \(directory) have other numbers than those in force: \(lines.joined(separator: "; ")). Compare them with weir diff, then run again with --accept-differences, or delete \(directory); nothing has changed"
        case .cannotGoBack(let detail):
            "this version cannot continue the earlier stores (\(detail)). Install the version that folded them, and run its weir promote --back; nothing has changed"
        case .stopped: "stopped before the end: run the same command again to continue"
        }
    }
}

/// The contents of a store that decide what it needs.
private struct StoreNeeds {
    let topic: String
    let states: [PartitionState]
    let difference: StoreDifference
    let unknown: [UnknownMeasure]
    let bookkeeping: [String]
    /// Another number of rules than the present one; nil if there is none.
    private(set) var rules: Int64?

    init(_ store: StoreSnapshot, rules present: Int64) throws {
        topic = store.topic
        states = try store.partitionStates()
        difference = try store.difference()
        unknown = try store.unknownMeasures()
        bookkeeping = try store.missingBookkeeping()
        for state in states {
            let folded = try store.configurationOfLastRecord(of: state)?.rulesNumber
            if let folded, folded != present { rules = rules ?? folded }
        }
    }
}

extension StreamFold {
    /// What the store at a path needs; nil without a store.
    static func upgrade(of path: String, from source: ReplaySource) throws -> StoreUpgrade? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        let found = try StoreReader(path: path).snapshot { try StoreNeeds($0, rules: rulesNumber) }
        var upgrade = StoreUpgrade(
            stream: streamName, topic: found.topic, path: path, way: .current, reason: "",
            mode: found.rules == nil ? .recorded : .present,
            unknown: Set(found.unknown.map { "\($0.table).\($0.measure)" }))
        if !found.bookkeeping.isEmpty {
            upgrade.way = .inPlace
            upgrade.reason = "adds \(found.bookkeeping.joined(separator: ", "))"
        }
        var reasons = found.rules.map { ["rules \($0), now \(rulesNumber)"] } ?? []
        reasons += found.difference.other.map {
            "\($0.table) differs in \($0.columns.joined(separator: ", "))"
        }
        let mustRefold = !reasons.isEmpty
        if !upgrade.unknown.isEmpty {
            reasons.append("unknown: \(upgrade.unknown.sorted().joined(separator: ", "))")
        }
        guard !reasons.isEmpty else { return upgrade }
        let reason = reasons.joined(separator: "; ")
        guard let gone = try firstGone(of: found.states, from: source) else {
            upgrade.way = .refold
            upgrade.reason = reason
            return upgrade
        }
        guard !mustRefold else {
            throw UpgradeError.recordsGone(
                store: path, reason: reason, partition: gone.partition, first: gone.first,
                earliest: gone.earliest)
        }
        // A store that was continued already stays as it is.
        guard !found.difference.missing.isEmpty else { return upgrade }
        upgrade.way = .extend
        upgrade.reason = "\(reason); the log no longer has its first records"
        return upgrade
    }

    /// The first partition whose first folded records neither the log nor the archive has; nil without one.
    private static func firstGone(
        of states: [PartitionState], from source: ReplaySource
    ) throws -> (partition: Int32, first: Int64, earliest: Int64?)? {
        let settings = try file(in: source.pipelines).settings
        let reader = try source.openReader(topic: settings.topic, settings: settings)
        defer { reader.close() }
        let bounds = try reader.bounds()
        for state in states where state.records > 0 {
            let earliest = bounds.first { $0.partition == state.partition }?.earliestOffset
            guard let earliest, earliest <= state.firstOffset else {
                return (state.partition, state.firstOffset, earliest)
            }
        }
        return nil
    }

    /// Opens a store as its worker does, which adds missing bookkeeping. False while its worker has it.
    static func changeInPlace(_ path: String) throws -> Bool {
        do {
            _ = try AggregateStore(
                path: path, fold: Self.self, topic: "", logIdentity: "", partitionCount: 0)
            return true
        } catch StoreError.locked {
            return false
        }
    }
}
