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
        let wanted = found.states.filter { $0.records > 0 }.map { ($0.partition, $0.firstOffset) }
        guard let gone = try firstGone(of: Dictionary(uniqueKeysWithValues: wanted), from: source)
        else {
            upgrade.way = .refold
            upgrade.reason = reason
            return upgrade
        }
        guard !mustRefold else {
            throw UpgradeError.recordsGone(
                store: path, reason: reason, partition: gone.partition, first: gone.offset,
                earliest: gone.earliest)
        }
        // A store that was continued already stays as it is.
        guard !found.difference.missing.isEmpty else { return upgrade }
        upgrade.way = .extend
        upgrade.reason = "\(reason); the log no longer has its first records"
        return upgrade
    }

    /// The first of some offsets, by partition, that neither the log nor the archive has; nil without one.
    static func firstGone(
        of wanted: [Int32: Int64], from source: ReplaySource
    ) throws -> (partition: Int32, offset: Int64, earliest: Int64?)? {
        let settings = try file(in: source.pipelines).settings
        let reader = try source.openReader(topic: settings.topic, settings: settings)
        defer { reader.close() }
        let bounds = try reader.bounds()
        for (partition, offset) in wanted.sorted(by: { $0.key < $1.key }) {
            let earliest = bounds.first { $0.partition == partition }?.earliestOffset
            guard let earliest, earliest <= offset else { return (partition, offset, earliest) }
        }
        return nil
    }

    /// Why the worker of this version would refuse a store that another one has folded; nil if it would not.
    static func obstacle(toContinue path: String) throws -> String? {
        let found = try StoreReader(path: path).snapshot { try StoreNeeds($0, rules: rulesNumber) }
        if let other = found.difference.other.first {
            return
                "\(path): the table \(other.table) differs in \(other.columns.joined(separator: ", "))"
        }
        return found.rules.map { "\(path): rules \($0), now \(rulesNumber)" }
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
