import ConfigurationFiles
import ConversionValues
import Deliveries
import Engine
import EventLog
import Foundation
import History
import Reports
import Store
import Streams

/// Deletes the records of an embedded log that are past the retention of their topics and that
/// nobody needs any more.
struct LogTrim {
    struct Row: Equatable {
        var topic: String
        var partition: Int32
        var earliestOffset: Int64
        var endOffset: Int64
        /// All records below this offset are deleted.
        var target: Int64
        /// Why the rest is kept.
        var reason: String
        /// Who needs records that are past the retention; nil when nobody does.
        var holder: String?

        var count: Int64 { target - earliestOffset }
    }

    private let log: EmbeddedLog
    private let described: [DescribedTopic]
    private let nowMilliseconds: Int64
    /// nil: the needs of readers are ignored.
    private let needs: LogNeeds?

    init(
        _ log: EmbeddedLog, _ described: [DescribedTopic], needs: LogNeeds?, nowMilliseconds: Int64
    ) {
        self.log = log
        self.described = described
        self.needs = needs
        self.nowMilliseconds = nowMilliseconds
    }

    func plan(topics names: Set<String> = []) throws -> [Row] {
        var rows: [Row] = []
        for topic in try log.topics() where names.isEmpty || names.contains(topic.name) {
            let reader = try log.reader(topic: topic.name, group: nil)
            defer { reader.close() }
            for bounds in try reader.bounds() {
                rows.append(try row(of: topic, bounds, reader))
            }
        }
        return rows
    }

    func run(_ rows: [Row]) throws(LogError) {
        for row in rows where row.count > 0 {
            try log.trim(topic: row.topic, partition: row.partition, before: row.target)
        }
    }

    private func row(
        of topic: TopicDescription, _ bounds: PartitionBounds, _ reader: any LogReader
    ) throws -> Row {
        func kept(_ reason: String) -> Row {
            Row(
                topic: topic.name, partition: bounds.partition,
                earliestOffset: bounds.earliestOffset, endOffset: bounds.endOffset,
                target: bounds.earliestOffset, reason: reason)
        }
        guard bounds.endOffset > bounds.earliestOffset else { return kept("empty") }
        guard !topic.isArchive else { return kept("an archive of another log") }
        guard let description = described.first(where: { $0.name == topic.name }) else {
            return kept("not described in the topics directory")
        }
        let retention = try TopicRetention(description)
        guard !retention.isCompacted else {
            return kept("cleanup.policy is compact: no record goes for its age")
        }
        guard let explanation = retention.explanation else { return kept("kept for ever") }
        let end = try retentionEnd(retention, topic.name, bounds, reader)
        var row = kept(end == bounds.endOffset ? "nothing is left" : "within \(explanation)")
        row.target = end
        guard let need = try needs?.need(of: topic, partition: bounds.partition), need.offset < end
        else { return row }
        row.target = max(need.offset, bounds.earliestOffset)
        row.holder = need.who
        row.reason =
            "\(end - row.target) more are past \(explanation), and \(need.who) goes on at \(need.offset)"
        return row
    }

    private func retentionEnd(
        _ retention: TopicRetention, _ topic: String, _ bounds: PartitionBounds,
        _ reader: any LogReader
    ) throws(LogError) -> Int64 {
        var end = bounds.earliestOffset
        if let milliseconds = retention.milliseconds {
            let kept = try reader.offset(
                partition: bounds.partition, atOrAfter: nowMilliseconds - milliseconds)
            end = max(end, kept ?? bounds.endOffset)
        }
        if let bytes = retention.bytes {
            end = max(
                end, try log.offset(topic: topic, partition: bounds.partition, keepingBytes: bytes))
        }
        // Records that came meanwhile are not meant.
        return min(end, bounds.endOffset)
    }
}

/// How long the records of a topic are kept, by the settings of its description, which have Kafka's
/// names.
struct TopicRetention: Equatable {
    /// Records older than this are deleted; nil: no limit.
    var milliseconds: Int64?
    /// The oldest records of a partition are deleted while it has more bytes; nil: no limit.
    var bytes: Int64?
    /// Whether the last record of each key is kept for ever: such a topic is not trimmed.
    var isCompacted = false

    /// Reads `cleanup.policy`, `retention.ms` and `retention.bytes`; what is not described is kept for ever.
    init(_ topic: DescribedTopic) throws(CommandError) {
        let policies = (topic.settings["cleanup.policy"] ?? "delete").split(separator: ",")
        isCompacted = !policies.contains("delete")
        guard !isCompacted else { return }
        milliseconds = try Self.limit("retention.ms", of: topic)
        bytes = try Self.limit("retention.bytes", of: topic)
    }

    private static func limit(
        _ name: String, of topic: DescribedTopic
    ) throws(CommandError) -> Int64? {
        guard let text = topic.settings[name] else { return nil }
        guard let number = Int64(text), number >= -1 else {
            throw .failure(
                "\(topic.file): \(name) is '\(text)': write a whole number, or -1 for no limit")
        }
        return number == -1 ? nil : number
    }

    var explanation: String? {
        let rules =
            (milliseconds.map { ["\(Self.span($0))"] } ?? [])
            + (bytes.map { ["\($0) bytes"] } ?? [])
        return rules.isEmpty ? nil : rules.joined(separator: " and ")
    }

    private static func span(_ milliseconds: Int64) -> String {
        for (unit, name) in [(86_400_000, "days"), (3_600_000, "hours"), (60_000, "minutes")]
        where milliseconds >= unit && milliseconds % Int64(unit) == 0 {
            return "\(milliseconds / Int64(unit)) \(name)"
        }
        return "\(milliseconds) ms"
    }
}

struct TrimReport {
    let rows: [LogTrim.Row]
    let isDry: Bool

    var table: ReportTable {
        ReportTable(
            columns: [
                .init("topic"), .init("partition", isNumber: true),
                .init("earliest", isNumber: true), .init("end", isNumber: true),
                .init(isDry ? "would_trim" : "trimmed", isNumber: true),
                .init("left", isNumber: true), .init("why_no_more"),
            ],
            rows: rows.map { row in
                [
                    .text(row.topic), .integer(Int128(row.partition)),
                    .integer(Int128(row.earliestOffset)), .integer(Int128(row.endOffset)),
                    .integer(Int128(row.count)), .integer(Int128(row.endOffset - row.target)),
                    .text(row.reason),
                ]
            })
    }

    var summary: String {
        let count = rows.reduce(0) { $0 + $1.count }
        let topics = Dictionary(grouping: rows.filter { $0.count > 0 }, by: \.topic)
            .map { name, rows in "\(name) \(rows.reduce(0) { $0 + $1.count })" }.sorted()
        let explanation = isDry ? "would trim" : "trimmed"
        let what = topics.isEmpty ? "" : ": \(topics.joined(separator: ", "))"
        return "\(explanation) \(count) records that are past the retention of their topics\(what)"
    }
}

/// Who still needs which records of an embedded log: stores, replays under way, the store of
/// installs, deliveries, archives, and any other consumer groups.
struct LogNeeds {
    struct Need: Equatable {
        /// The offset of the first record that is needed.
        var offset: Int64
        var who: String
    }

    /// A reader of a topic, with the first record that it needs of each partition.
    private struct Reader {
        var who: String
        var topic: String
        /// The identity of the topic, which differs from others of its name; nil when it is not
        /// known: then the name alone counts.
        var identity: String?
        var nextOffsets: [Int32: Int64]
        /// Whether it needs everything of the partitions of which it has no offset.
        var needsTheRest = false
        /// Whether it is evidence that the topic is being folded.
        var isFold = true
    }

    private var readers: [Reader] = []
    private let programs: [String: String]
    private let log: EmbeddedLog

    /// - Parameters:
    ///   - directories: the data directories; a replay is known when its directory lies in one of them, or is
    ///     one.
    ///   - archivePath: an archive that is written; nil for none.
    ///   - pipelines: the configuration, which may give topics other names.
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
                        + "--beyond-stores to ask none")
            }
            for stream in OpenStores.streams {
                let path = try OpenStores.path(of: stream, in: directory)
                if let reader = try Self.store(at: path) { readers.append(reader) }
            }
            readers += try Self.deliveries(in: directory) + Self.installs(in: directory)
            readers += try Self.replays(in: directory)
        }
        if let archivePath, FileManager.default.fileExists(atPath: archivePath) {
            readers += try Self.archive(at: archivePath)
        }
    }

    /// The need that reaches back furthest in a partition; nil when nobody needs any of it.
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
            needs.append(Need(offset: 0, who: "\(program), which has folded none of it,"))
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

// MARK: Who reads

extension LogNeeds {
    private static func store(at path: String) throws(StoreError) -> Reader? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        return try StoreReader(path: path).snapshot { snapshot in
            Reader(
                who: path, topic: snapshot.topic, identity: snapshot.logIdentity,
                nextOffsets: try snapshot.partitionStates().reduce(into: [:]) {
                    $0[$1.partition] = $1.nextOffset
                })
        }
    }

    private static func deliveries(in directory: String) throws(StoreError) -> [Reader] {
        guard let store = try DeliveryStore.existing(in: directory) else { return [] }
        let origin = try store.origin()
        return [
            Reader(
                who: DeliveryStore.path(in: directory), topic: origin.topic,
                identity: origin.logIdentity, nextOffsets: try store.nextOffsets())
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

    /// Replays that may still read on, whose directory is a data directory or lies in one. A set
    /// that was promoted before and is not in force any more reads nothing.
    private static func replays(in directory: String) throws -> [Reader] {
        let sets = try PromotionJournal(directory: directory)
        let promoted = Set(
            sets.promotions.flatMap { $0.streams.values }.flatMap { [$0.to, $0.from] })
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        var readers: [Reader] = []
        for path in [directory] + names.sorted().map({ "\(directory)/\($0)" }) {
            guard !promoted.contains(sets.set(at: path)) || path == directory,
                let manifest = try ReplayManifest.read(in: path)
            else { continue }
            var found = try OpenStores.streams.compactMap {
                try store(at: "\(path)/\($0).sqlite")
            }
            for index in found.indices {
                found[index].who = "replay \(found[index].who)"
                found[index].isFold = false
                found[index].nextOffsets = found[index].nextOffsets.filter {
                    manifest.range.toOffset.map { [next = $0.value] in next < $0 } ?? true
                }
            }
            let begun = Set(found.map(\.topic))
            found += manifest.topics.filter { !begun.contains($0) }.map {
                Reader(
                    who: "replay \(path), which is about to begin,", topic: $0, identity: nil,
                    nextOffsets: [:], needsTheRest: true, isFold: false)
            }
            readers += found
        }
        return readers
    }
}
