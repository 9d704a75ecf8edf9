import ConfigurationValues
import ConversionModels
import JSON
import Store
import Streams

extension StreamFold {
    /// Why the worker would reject a store under the present configuration; nil if it would not. Checks every
    /// partition in the store, and writes nothing.
    package static func refusal(
        of store: StoreReader, pipelines: PipelineDirectory
    ) throws -> WorkerError? {
        let configuration = try rules(in: pipelines).configuration
        return try store.snapshot { try configuration.refusal(of: $0, store: store.path) }
    }
}

extension FoldConfiguration {
    /// Why a store cannot continue under the configuration, for any of its partitions; nil if it can.
    package func faultInHistory(of snapshot: StoreSnapshot) throws -> HistoryFault? {
        for state in try snapshot.partitionStates() {
            if let fault = try faultInHistory(of: state, in: snapshot) { return fault }
        }
        return nil
    }

    /// Why the store at this path cannot continue under the configuration; nil if it can.
    func refusal(of snapshot: StoreSnapshot, store path: String) throws -> WorkerError? {
        try faultInHistory(of: snapshot).map { .historyChanged($0, store: path) }
    }

    /// The same for one of its partitions.
    func refusal(
        of state: PartitionState, in snapshot: StoreSnapshot, store path: String
    ) throws -> WorkerError? {
        try faultInHistory(of: state, in: snapshot)
            .map { .historyChanged($0, store: path) }
    }

    /// Why a snapshot of a partition cannot continue under the configuration, in words; nil if it can. Every hour of its
    /// days counts as one with postbacks of each app.
    func refusal(
        of manifest: SnapshotManifest, in directory: SnapshotDirectory
    ) throws -> String? {
        try directory.state(of: manifest) { snapshot, state in
            try faultInHistory(of: state, in: snapshot) { _ in manifest.hours }?.description
        }
    }

    /// Compares with the configuration of a partition's last folded record.
    private func faultInHistory(
        of state: PartitionState, in snapshot: StoreSnapshot
    ) throws -> HistoryFault? {
        try faultInHistory(of: state, in: snapshot) {
            try snapshot.hours(ofPostbacksOfApp: $0, partition: state.partition)
        }
    }

    private func faultInHistory(
        of state: PartitionState, in snapshot: StoreSnapshot, _ hours: (Int64) throws -> [Hour]
    ) throws -> HistoryFault? {
        guard let folded = try snapshot.configurationOfLastRecord(of: state), folded.hash != hash
        else { return nil }
        guard folded.rulesNumber == rulesNumber else {
            return .rules(folded: folded.rulesNumber, present: rulesNumber)
        }
        return try ConfigurationChange(from: folded, to: self)
            .faultInHistory(of: state, hours).map { .model($0) }
    }
}

/// Why a store cannot continue under a configuration.
package enum HistoryFault: Equatable, Sendable, CustomStringConvertible {
    /// Another version of Weir folded it, and its rules have another number.
    case rules(folded: Int64, present: Int64)
    /// A version of a conversion model that may have decoded its postbacks has changed; in words.
    case model(String)

    package var description: String {
        switch self {
        case .rules(let folded, let present):
            "it was folded with rules \(folded), but this version of Weir uses rules \(present)"
        case .model(let detail): detail
        }
    }
}

/// A change of a partition's configuration. Conversion models may only grow at their end: versions that decoded a
/// folded postback must not be edited.
struct ConfigurationChange {
    private struct Version {
        var effectiveFromMilliseconds: Int64
        var text: [UInt8]
    }

    /// Versions by app and by the bytes of their id.
    private let before: [Int64: [[UInt8]: Version]]
    private let after: [Int64: [[UInt8]: Version]]

    /// The longest time from setting a value to receiving its postback. A version stays relevant for this long after
    /// its successor takes effect.
    private static let longestWait =
        PostbackTiming.allCases.map { -$0.settingInterval(received: 0).earliest }.max() ?? 0

    init(from old: FoldConfiguration, to new: FoldConfiguration) {
        before = Self.versions(in: old.text)
        after = Self.versions(in: new.text)
    }

    /// The fault of the change for a partition at its progress; nil without one. Only a version that decoded, or
    /// would have decoded, folded postbacks of its app counts.
    ///
    /// - Parameter hours: the hours with postbacks of an app.
    func faultInHistory(
        of state: PartitionState, _ hours: (_ app: Int64) throws -> [Hour]
    ) throws -> String? {
        let folded = state.watermarkMilliseconds
        for app in Set(before.keys).union(after.keys).sorted() {
            let old = before[app] ?? [:]
            let new = after[app] ?? [:]
            guard old.mapValues(\.text) != new.mapValues(\.text) else { continue }
            let hours = try hours(app)
            for (id, version) in Self.ordered(old)
            where new[id]?.text != version.text && Self.counts(version, among: old, in: hours) {
                let what = new[id] == nil ? "was removed" : "was edited"
                return "conversion-models/\(app).yaml: version '\(Self.text(id))' \(what)"
            }
            for (id, version) in Self.ordered(new)
            where old[id]?.text != version.text && version.effectiveFromMilliseconds < folded
                && Self.counts(version, among: new, in: hours)
            {
                let time = UTC.text(milliseconds: version.effectiveFromMilliseconds)
                return
                    "conversion-models/\(app).yaml: version '\(Self.text(id))' takes effect at \(time), but "
                    + "partition \(state.partition) is already folded up to \(UTC.text(milliseconds: folded))"
            }
        }
        return nil
    }

    private static func ordered(_ versions: [[UInt8]: Version]) -> [([UInt8], Version)] {
        versions.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }

    /// Whether a version may decode the value of a postback in one of these hours. Versions take effect at whole
    /// hours.
    private static func counts(
        _ version: Version, among all: [[UInt8]: Version], in hours: [Hour]
    ) -> Bool {
        let begin = version.effectiveFromMilliseconds
        let next = all.values.map(\.effectiveFromMilliseconds).filter { $0 > begin }.min()
        let first = Hour(containing: begin)
        let last = next.map { Hour(containing: $0 &+ longestWait) }
        return hours.contains { hour in hour >= first && last.map { hour < $0 } ?? true }
    }

    private static func text(_ id: [UInt8]) -> String { String(decoding: id, as: UTF8.self) }

    private static func versions(in text: String) -> [Int64: [[UInt8]: Version]] {
        var text = text
        return text.withUTF8 { bytes in
            guard let parser = JSONParser(),
                let root = try? parser.parse(UnsafeRawBufferPointer(bytes)),
                let models = root.member("models")
            else { return [:] }
            var apps: [Int64: [[UInt8]: Version]] = [:]
            for model in models.elements {
                guard case .integer(let app)? = model.member("app")?.number,
                    let versions = model.member("versions")
                else { continue }
                for version in versions.elements {
                    guard let id = version.member("id")?.string,
                        case .integer(let from)? = version.member("effective_from_ms")?.number
                    else { continue }
                    var written = JSONText()
                    written.value(version)
                    apps[app, default: [:]][Array(id)] = Version(
                        effectiveFromMilliseconds: from, text: Array(written.text.utf8))
                }
            }
            return apps
        }
    }
}
