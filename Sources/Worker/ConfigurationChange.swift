import AggregateStore
import JSONReader
import Streams

/// A change of the configuration that a partition is folded under. Conversion models may only grow at
/// their end: what decoded a folded postback is never edited.
struct ConfigurationChange {
    private struct Version {
        var effectiveFromMilliseconds: Int64
        var text: [UInt8]
    }

    /// Versions by app and by the bytes of their id.
    private let before: [Int64: [[UInt8]: Version]]
    private let after: [Int64: [[UInt8]: Version]]

    init(from old: FoldConfiguration, to new: FoldConfiguration) {
        before = Self.versions(in: old.text)
        after = Self.versions(in: new.text)
    }

    /// What is wrong with the change, for a partition as far as it is folded; nil when nothing is.
    func faultInHistory(
        of state: PartitionState, store: AggregateStore
    ) throws(StoreError) -> String? {
        guard state.records > 0 else { return nil }
        let folded = state.watermarkMilliseconds
        for app in Set(before.keys).union(after.keys).sorted() {
            let old = before[app] ?? [:]
            let new = after[app] ?? [:]
            for (id, version) in old.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) })
            where version.effectiveFromMilliseconds <= folded && new[id]?.text != version.text {
                let what = new[id] == nil ? "was removed" : "was edited"
                return "conversion-models/\(app).yaml: version '\(Self.text(id))' \(what)"
            }
            for (id, version) in new.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) })
            where old[id]?.text != version.text && version.effectiveFromMilliseconds < folded {
                guard try store.hasPostbacks(ofApp: app, partition: state.partition) else {
                    continue
                }
                let time = UTC.text(milliseconds: version.effectiveFromMilliseconds)
                return
                    "conversion-models/\(app).yaml: version '\(Self.text(id))' takes effect at \(time), before "
                    + "\(UTC.text(milliseconds: folded)) up to which partition \(state.partition) is folded"
            }
        }
        return nil
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
