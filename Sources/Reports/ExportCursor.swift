import Crypto
import Store
import Streams

/// The position of an export. The next export contains the changes since then.
///
/// A cursor is valid while the rows of the records below it stay the same: same log, partner, profile, records and
/// configurations. It contains digests of these, and `check` rejects it when they differ.
package struct ExportCursor: Equatable, Sendable, CustomStringConvertible {
    private struct Partition: Equatable {
        var nextOffset: Int64
        /// Digest of the folded history below it.
        var history: String
    }

    private static let version = "c1"

    /// Digest of the log, the topic, the partner and the profile.
    private let subject: String
    private let partitions: [Int32: Partition]

    /// The current position of these stores.
    init(_ slices: [StoreSlice], of query: ExportQuery) throws {
        subject = Self.subject(slices, query)
        partitions = try slices.reduce(into: [:]) { partitions, slice in
            for state in slice.partitions {
                partitions[state.partition] = Partition(
                    nextOffset: state.nextOffset,
                    history: try Self.history(
                        of: state.partition, below: state.nextOffset, in: slice.snapshot))
            }
        }
    }

    /// Parses the text of `description`; nil for anything else, such as a truncated one.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == Self.version else { return nil }
        var partitions: [Int32: Partition] = [:]
        for entry in parts[2].split(separator: ",") {
            let words = entry.split { $0 == "=" || $0 == "@" }
            guard words.count == 3, let partition = Int32(words[0]), let offset = Int64(words[1])
            else { return nil }
            partitions[partition] = Partition(nextOffset: offset, history: String(words[2]))
        }
        subject = String(parts[1])
        self.partitions = partitions
        guard description == text else { return nil }
    }

    package var description: String {
        let entries = partitions.sorted { $0.key < $1.key }.map {
            "\($0.key)=\($0.value.nextOffset)@\($0.value.history)"
        }
        let text = "\(Self.version):\(subject):\(entries.joined(separator: ","))"
        return "\(text):\(Self.digest([text]).prefix(8))"
    }

    /// The offset at which a partition's changes begin.
    func nextOffset(of partition: Int32) -> Int64 { partitions[partition]?.nextOffset ?? .min }

    /// Throws `staleCursor` unless the rows below the cursor are the exported ones.
    func check(_ slices: [StoreSlice], of query: ExportQuery) throws {
        guard Self.subject(slices, query) == subject else {
            throw InspectionError.staleCursor(
                "it belongs to another log, topic, --partner or --profile, or to a version that exported only published postbacks"
            )
        }
        var missing = Set(partitions.keys)
        for slice in slices {
            for state in slice.partitions {
                guard let known = partitions[state.partition] else { continue }
                missing.remove(state.partition)
                guard known.nextOffset <= state.nextOffset else {
                    throw InspectionError.staleCursor(
                        "partition \(state.partition) is folded up to \(state.nextOffset), and was folded up to "
                            + "\(known.nextOffset) at the last export")
                }
                let history = try Self.history(
                    of: state.partition, below: known.nextOffset, in: slice.snapshot)
                guard history == known.history else {
                    throw InspectionError.staleCursor(
                        "partition \(state.partition) contains other records than at the last export, or was folded "
                            + "again under another configuration")
                }
            }
        }
        if let partition = missing.min() {
            throw InspectionError.staleCursor("no store contains partition \(partition)")
        }
    }

    private static func subject(_ slices: [StoreSlice], _ query: ExportQuery) -> String {
        digest([
            slices.first?.snapshot.topic ?? "", slices.first?.snapshot.logIdentity ?? "",
            // Partner names do not contain spaces.
            query.partner ?? "all accepted", query.profile.rawValue,
        ])
    }

    /// Digest of the configurations in force below an offset, and of the last postback there. It differs for a log that
    /// was restored and extended.
    private static func history(
        of partition: Int32, below offset: Int64, in snapshot: StoreSnapshot
    ) throws -> String {
        let configurations = try snapshot.epochs(of: partition).filter { $0.fromOffset < offset }
        return digest(
            configurations.flatMap { ["\($0.fromOffset)", $0.configuration.hash] } + [
                try snapshot.lastPostbackCopy(of: partition, below: offset) ?? ""
            ])
    }

    private static func digest(_ texts: [String]) -> String {
        let bytes = texts.flatMap { Array("\($0.utf8.count) \($0)".utf8) }
        return String(SHA256.hash(data: bytes).hexDigits.prefix(16))
    }
}
