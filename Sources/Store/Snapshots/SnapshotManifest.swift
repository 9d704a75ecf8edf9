import Crypto
import DatabaseFiles
import Foundation
import JSON
import Streams

/// The list of a snapshot's files: a partition of a store at an offset.
package struct SnapshotManifest: Codable, Equatable, Sendable {
    package struct File: Codable, Equatable, Sendable {
        /// The name of the segment.
        var segment: String
        package var name: String
        package var bytes: Int
        package var sha256: String
    }

    package static let currentVersion = 1

    package private(set) var version = currentVersion
    /// The version of the store's tables.
    package var schema: Int
    package var stream: String
    package var topic: String
    package var logIdentity: String
    /// The consumer group of the worker; nil for a hand-off.
    package var group: String?
    package var partitionCount: Int32
    package var partition: Int32
    package var nextOffset: Int64
    package var records: Int64
    /// The SHA-256 of the configuration that folded the last record; nil without a record.
    package var configuration: String?
    /// How far the numbers of keys and documents go, which only ascend.
    var keyCount: Int64
    var documentCount: Int64
    package var files: [File] = []

    private enum CodingKeys: String, CodingKey {
        case version, schema, stream, topic
        case logIdentity = "log_identity"
        case group
        case partitionCount = "partition_count"
        case partition
        case nextOffset = "next_offset"
        case records, configuration
        case keyCount = "keys"
        case documentCount = "documents"
        case files
    }

    init(
        schema: Int, stream: String, topic: String, logIdentity: String, group: String?,
        partitionCount: Int32, _ state: PartitionState, configuration: String?, keyCount: Int64
    ) {
        self.schema = schema
        self.stream = stream
        self.topic = topic
        self.logIdentity = logIdentity
        self.group = group
        self.partitionCount = partitionCount
        partition = state.partition
        nextOffset = state.nextOffset
        records = state.records
        self.configuration = configuration
        self.keyCount = keyCount
        documentCount = state.outboxNext
    }

    /// The number of bytes of all files.
    package var bytes: Int { files.reduce(0) { $0 + $1.bytes } }

    /// The hours of the days with rows.
    package var hours: [Hour] {
        files.compactMap { file in
            file.segment.hasPrefix("day-")
                ? Hour(text: "\(file.segment.dropFirst("day-".count))T00:00:00Z") : nil
        }.flatMap { first in
            (0..<24).map { Hour(hoursSince1970: first.hoursSince1970 + $0) }
        }
    }

    /// Names sort in the order of offsets, which have up to 19 digits.
    static func fileName(nextOffset: Int64, sha256: String) -> String {
        let digits = String(nextOffset)
        let zeros = String(repeating: "0", count: max(0, 19 - digits.utf8.count))
        return "\(prefix)\(zeros)\(digits)-\(sha256.prefix(16)).json"
    }

    static let prefix = "snapshot-"

    /// Whether it is of the partition in the same log, for the same consumer group or a hand-off. Snapshots of others
    /// have other numbers.
    package func isOfSameInstallation(as other: SnapshotManifest) -> Bool {
        (topic, logIdentity, partition) == (other.topic, other.logIdentity, other.partition)
            && stream == other.stream
            && (group == nil || other.group == nil || group == other.group)
    }

    /// The bytes of the manifest, and its file's name, which contains their checksum.
    func encoded() throws -> (name: String, bytes: Data) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let bytes = try encoder.encode(self) + Data("\n".utf8)
        let name = Self.fileName(
            nextOffset: nextOffset, sha256: SHA256.hash(data: bytes).hexDigits)
        return (name, bytes)
    }

    /// Reads a manifest. Throws what is wrong with it, in words.
    init(name: String, bytes: Data) throws(SnapshotFault) {
        let manifest: SnapshotManifest
        do {
            manifest = try JSONDecoder().decode(Self.self, from: bytes)
        } catch {
            throw SnapshotFault("its manifest is damaged")
        }
        let sha256 = SHA256.hash(data: bytes).hexDigits
        guard Self.fileName(nextOffset: manifest.nextOffset, sha256: sha256) == name else {
            throw SnapshotFault("its manifest is damaged: the checksum in its name does not match")
        }
        guard manifest.version <= Self.currentVersion else {
            throw SnapshotFault(
                "its manifest has version \(manifest.version), and this program reads up to \(Self.currentVersion)"
            )
        }
        guard manifest.files.allSatisfy({ !$0.name.contains("/") && !$0.name.hasPrefix(".") })
        else {
            throw SnapshotFault("its manifest lists a file outside its directory")
        }
        self = manifest
    }
}

/// Why a snapshot cannot be used, in words.
package struct SnapshotFault: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
