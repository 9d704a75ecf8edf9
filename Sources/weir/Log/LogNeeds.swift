import ConfigurationValues
import ConversionValues
import Deliveries
import EmbeddedLog
import Engine
import EventLog
import Foundation
import History
import Program
import Reports
import Store
import Streams

/// The readers that still need records of an embedded log: stores, running replays, the store of installs, deliveries,
/// archives, and other consumer groups.
struct LogNeeds {
    struct Need: Equatable {
        /// The offset of the first needed record.
        var offset: Int64
        var who: String
    }

    /// A reader of a topic, with the first record that it needs in each partition.
    private struct Reader {
        var who: String
        var topic: String
        /// The identity of the topic, to distinguish it from a recreated one; nil when not known, so that only the name
        /// counts.
        var identity: String?
        var nextOffsets: [Int32: Int64]
        /// Whether it needs all records of partitions without an offset.
        var needsTheRest = false
        /// Whether it shows that the topic is being folded.
        var isFold = true
    }

    private var readers: [Reader] = []
    private let programs: [String: String]
    private let log: EmbeddedLog

    /// - Parameters:
    ///   - directories: the data directories. Replays are found if their directory is one of these or below one.
    ///   - archivePath: an archive that is being written; nil without one.
    ///   - pipelines: the configuration, which may rename topics.
    init(
        of log: EmbeddedLog, directories: [String], archivePath: String?,
        pipelines: PipelineDirectory
    ) throws {
        self.log = log
        programs = Self.programs(pipelines)
        for directory in directories {
            guard FileManager.default.fileExists(atPath: directory) else {
                throw CommandError.failure(
                    "no directory \(directory): give --data the directories of all stores of this log, or "
                        + "use --beyond-stores to check none")
            }
            // Make promotions durable first. After a power failure, an earlier set could be in force again and need the
            // trimmed records.
            let sets = try PromotionJournal(settledIn: directory)
            for stream in OpenStores.streams {
                let path = try sets.presentPath(of: stream)
                if let reader = try Self.store(at: path) { readers.append(reader) }
            }
            readers += try Self.deliveries(in: directory) + Self.installs(in: directory)
            readers += try Self.replays(in: directory)
        }
        if let archivePath, FileManager.default.fileExists(atPath: archivePath) {
            readers += try Self.archive(at: archivePath)
        }
    }

    /// The need that reaches furthest back in a partition; nil if its records are not needed.
    func need(of topic: TopicDescription, partition: Int32) throws(LogError) -> Need? {
        let groups = try log.groupOffsets(ofTopic: topic.name).sorted { $0.key < $1.key }
        let own = readers.filter {
            $0.topic == topic.name && ($0.identity ?? topic.identity) == topic.identity
        }
        var needs: [Need] = own.compactMap { reader in
            let offset = reader.nextOffsets[partition] ?? (reader.needsTheRest ? 0 : nil)
            return offset.map { Need(offset: $0, who: reader.who) }
        }
        needs += groups.compactMap { group, offsets in
            offsets[partition].map { Need(offset: $0, who: "consumer group \(group)") }
        }
        let isFolded =
            own.contains { $0.isFold && $0.nextOffsets[partition] != nil }
            || groups.contains { $0.value[partition] != nil }
        if let program = programs[topic.name], !isFolded {
            needs.append(Need(offset: 0, who: "\(program), which has not folded it yet,"))
        }
        return needs.min { $0.offset < $1.offset }
    }

    private static func programs(_ pipelines: PipelineDirectory) -> [String: String] {
        allStreams.reduce(into: [:]) { programs, stream in
            let topic = (try? stream.file(in: pipelines).settings.topic) ?? stream.streamName
            programs[topic] = stream.programName
        }
    }
}

// MARK: Readers

extension LogNeeds {
    private static func store(at path: String) throws(StoreError) -> Reader? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        return try StoreReader(path: path).snapshot { snapshot in
            Reader(
                who: path, topic: snapshot.topic, identity: snapshot.logIdentity,
                nextOffsets: try snapshot.partitionStates().nextOffsets)
        }
    }

    private static func deliveries(in directory: String) throws(StoreError) -> [Reader] {
        guard let store = try DeliveryStore.existing(in: directory) else { return [] }
        let origin = try store.origin()
        return [
            Reader(
                who: store.path, topic: origin.topic, identity: origin.logIdentity,
                nextOffsets: try store.nextOffsets())
        ]
    }

    private static func installs(in directory: String) throws(StoreError) -> [Reader] {
        let path = "\(directory)/\(ConversionStoreProgress.fileName)"
        guard FileManager.default.fileExists(atPath: path),
            let progress = try ConversionStoreProgress(path: path)
        else { return [] }
        return [
            Reader(
                who: path, topic: progress.topic, identity: progress.logIdentity,
                nextOffsets: progress.nextOffsets, isFold: false)
        ]
    }

    private static func archive(at path: String) throws(LogError) -> [Reader] {
        let archive = try EmbeddedLog(path: path, mode: .existing)
        var readers: [Reader] = []
        for topic in try archive.topics() where topic.isArchive {
            let bounds = try archive.reader(topic: topic.name, group: nil).bounds()
            readers.append(
                Reader(
                    who: "archive \(archive.address)", topic: topic.name, identity: topic.identity,
                    nextOffsets: bounds.reduce(into: [:]) { $0[$1.partition] = $1.endOffset },
                    isFold: false))
        }
        return readers
    }

    /// Replays in a data directory or below it that may still read. A set that was promoted and is no longer in force
    /// does not read.
    private static func replays(in directory: String) throws -> [Reader] {
        let sets = try PromotionJournal(directory: directory)
        let promoted = Set(
            sets.promotions.flatMap { $0.streams.values }.flatMap { [$0.to, $0.from] })
        var readers: [Reader] = []
        for path in try [directory] + directories(below: directory)
        where path == directory || !promoted.contains(sets.set(at: path)) {
            do {
                readers += try replay(in: path)
            } catch {
                let manifest = "\(path)/\(ReplayManifest.fileName)"
                // The file may have been removed in between.
                guard FileManager.default.fileExists(atPath: manifest) else { continue }
                throw error
            }
        }
        return readers
    }

    private static func replay(in path: String) throws -> [Reader] {
        guard let manifest = try ReplayManifest.read(in: path) else { return [] }
        let end = manifest.range.toOffset ?? .max
        var found = try OpenStores.streams.compactMap { try store(at: "\(path)/\($0).sqlite") }
        for index in found.indices {
            found[index].who = "replay \(found[index].who)"
            found[index].isFold = false
            // Partitions under another configuration start later.
            found[index].needsTheRest = true
            found[index].nextOffsets = found[index].nextOffsets.mapValues { $0 < end ? $0 : .max }
        }
        let begun = Set(found.map(\.topic))
        found += manifest.topics.filter { !begun.contains($0) }.map {
            Reader(
                who: "replay \(path), which is about to begin,", topic: $0, identity: nil,
                nextOffsets: [:], needsTheRest: true, isFold: false)
        }
        return found
    }

    /// All directories below one, sorted by name at each level. A symbolic link is included, because it may lead to a
    /// set, but is not followed: it may lead to another disk, or back here. Backups are not searched either, because
    /// their stores do not read.
    private static func directories(below directory: String) throws -> [String] {
        let files = FileManager.default
        let names: [String]
        do {
            names = try files.contentsOfDirectory(atPath: directory)
        } catch {
            // The directory may have been removed in between.
            guard files.fileExists(atPath: directory) else { return [] }
            throw StoreError(error, operation: "read", path: directory)
        }
        var found: [String] = []
        // The root of a filesystem contains it, and only root can read it.
        for name in names.sorted() where name != "lost+found" {
            let path = "\(directory)/\(name)"
            let type = try? files.attributesOfItem(atPath: path)[.type] as? FileAttributeType
            let isBackup = files.fileExists(atPath: "\(path)/\(BackupManifest.fileName)")
            guard type == .typeDirectory || type == .typeSymbolicLink, !isBackup else { continue }
            found.append(path)
            if type == .typeDirectory { found += try directories(below: path) }
        }
        return found
    }
}
