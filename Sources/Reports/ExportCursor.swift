import Crypto
import Store
import Streams

/// How far an export has come: the next one hands over what changed since.
///
/// It holds as long as the rows that came of the records below it stay what they are: in the same log, for the same
/// partner, folded under the same configurations. So it names them, and another one is refused.
package struct ExportCursor: Equatable, Sendable, CustomStringConvertible {
    private struct Partition: Equatable {
        var nextOffset: Int64
        /// Digest of the configurations that were in force below it.
        var configurations: String
    }

    private static let version = "c1"

    /// Digest of the log, the topic and the partner.
    private let subject: String
    private let partitions: [Int32: Partition]

    /// Where these stores are.
    init(_ slices: [StoreSlice], partner: String?) throws {
        subject = Self.subject(slices, partner)
        partitions = try slices.reduce(into: [:]) { partitions, slice in
            for state in slice.partitions {
                partitions[state.partition] = Partition(
                    nextOffset: state.nextOffset,
                    configurations: try Self.configurations(
                        of: state.partition, below: state.nextOffset, in: slice.snapshot))
            }
        }
    }

    /// Reads what `description` wrote; nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == Self.version else { return nil }
        var partitions: [Int32: Partition] = [:]
        for entry in parts[2].split(separator: ",") {
            let words = entry.split { $0 == "=" || $0 == "@" }
            guard words.count == 3, let partition = Int32(words[0]), let offset = Int64(words[1]),
                partitions[partition] == nil
            else { return nil }
            partitions[partition] = Partition(
                nextOffset: offset, configurations: String(words[2]))
        }
        subject = String(parts[1])
        self.partitions = partitions
    }

    package var description: String {
        let entries = partitions.sorted { $0.key < $1.key }.map {
            "\($0.key)=\($0.value.nextOffset)@\($0.value.configurations)"
        }
        return "\(Self.version):\(subject):\(entries.joined(separator: ","))"
    }

    /// The offset from which on a partition has changes.
    func nextOffset(of partition: Int32) -> Int64 { partitions[partition]?.nextOffset ?? .min }

    /// Throws `staleCursor` unless the rows below it are those that were exported.
    func check(_ slices: [StoreSlice], partner: String?) throws {
        guard Self.subject(slices, partner) == subject else {
            throw InspectionError.staleCursor("it is of another log, topic or --partner")
        }
        var missing = Set(partitions.keys)
        for slice in slices {
            for state in slice.partitions {
                guard let known = partitions[state.partition] else { continue }
                missing.remove(state.partition)
                guard known.nextOffset <= state.nextOffset else {
                    throw InspectionError.staleCursor(
                        "partition \(state.partition) is folded to \(state.nextOffset), and was to "
                            + "\(known.nextOffset)")
                }
                let configurations = try Self.configurations(
                    of: state.partition, below: known.nextOffset, in: slice.snapshot)
                guard configurations == known.configurations else {
                    throw InspectionError.staleCursor(
                        "partition \(state.partition) was folded again under another configuration")
                }
            }
        }
        if let partition = missing.min() {
            throw InspectionError.staleCursor("partition \(partition) is in no store here")
        }
    }

    private static func subject(_ slices: [StoreSlice], _ partner: String?) -> String {
        digest([
            slices.first?.snapshot.topic ?? "", slices.first?.snapshot.logIdentity ?? "",
            partner ?? "",
        ])
    }

    private static func configurations(
        of partition: Int32, below offset: Int64, in snapshot: StoreSnapshot
    ) throws -> String {
        digest(
            try snapshot.epochs(of: partition).filter { $0.fromOffset < offset }.flatMap {
                ["\($0.fromOffset)", $0.configuration.hash]
            })
    }

    private static func digest(_ texts: [String]) -> String {
        let bytes = texts.flatMap { Array("\($0.utf8.count) \($0)".utf8) }
        return String(SHA256.hash(data: bytes).hexDigits.prefix(16))
    }
}
