import EmbeddedLog
import Engine
import EventLog
import Streams

/// Finds the records of a person in topics of a log.
struct ErasureScan {
    /// The end of each partition at the time of the scan.
    private(set) var ends: [TopicPartition: Int64] = [:]
    private(set) var found: [ErasureFindings.Records] = []
    private let subject: ErasureSubject
    private let log: any LogBackend
    private let onProgress: (Int) -> Void
    /// Keys of records with the account's token: other records with these keys are about the same purchases.
    private(set) var lines: Set<[UInt8]>
    /// For each partition, the highest offset of a notice of this erasure.
    private(set) var notices: [TopicPartition: Int64] = [:]

    /// The names of the account's token in notifications of versions 2 and 1.
    private static let tokenNames = [
        TextSearch("appAccountToken"), TextSearch("app_account_token"),
    ]
    private static let progressRecords = 1000

    /// - Parameter lines: keys of the account's purchases that are known already.
    init(
        _ subject: ErasureSubject, in log: any LogBackend, lines: Set<[UInt8]> = [],
        onProgress: @escaping (Int) -> Void = { _ in }
    ) {
        self.subject = subject
        self.lines = lines
        self.log = log
        self.onProgress = onProgress
    }

    /// Reads topics.
    ///
    /// - Parameter starts: the first offsets to read; other partitions are read from their beginning.
    mutating func read(
        _ topics: [TopicDescription], from starts: [TopicPartition: Int64] = [:]
    ) throws {
        for topic in topics {
            try read(topic, from: starts) { [subject] in subject.isIn($0) }
        }
        guard subject.kind == .account else { return }
        let withLines = topics.filter { Self.hasLines($0.name) }
        for topic in withLines {
            for records in found where records.topic == topic.name { lines.formUnion(records.keys) }
        }
        guard !lines.isEmpty else { return }
        for topic in withLines {
            try read(topic, from: starts) { [lines] record in
                guard let key = record.key, lines.contains(Array(key)) else { return false }
                return !Self.tokenNames.contains { $0.isIn(record) }
            }
        }
    }

    /// Adds the records of a topic that are selected to those that were found.
    private mutating func read(
        _ topic: TopicDescription, from starts: [TopicPartition: Int64],
        where isWanted: (RecordView) -> Bool
    ) throws {
        for partition in 0..<topic.partitionCount {
            let place = TopicPartition(topic: topic.name, partition: partition)
            let index = found.firstIndex { $0.topic == topic.name && $0.partition == partition }
            var records =
                index.map { found[$0] }
                ?? ErasureFindings.Records(
                    topic: topic.name, identity: topic.identity, partition: partition)
            let known = Set(records.records.map(\.offset))
            try read(place, from: starts[place], where: isWanted) { record in
                if !known.contains(record.offset) { records.add(record) }
            }
            guard !records.records.isEmpty else { continue }
            records.records.sort { $0.offset < $1.offset }
            if let index { found[index] = records } else { found.append(records) }
        }
    }

    /// Whether the key of the topic's records is the original transaction of purchases.
    private static func hasLines(_ topic: String) -> Bool {
        let stream = StoreNotificationsFold.streamName
        return topic == stream || topic == "\(stream).dlq"
    }

    private mutating func read(
        _ place: TopicPartition, from start: Int64?, where isWanted: (RecordView) -> Bool,
        _ body: (RecordView) -> Void
    ) throws {
        let reader = try log.reader(topic: place.topic)
        defer { reader.close() }
        let end = try reader.bounds(of: [place.partition]).first?.endOffset ?? 0
        ends[place] = max(ends[place] ?? 0, end)
        var reading = try TopicReading(
            reader, partition: place.partition, from: start.map { .offset($0) }, to: .offset(end))
        var (count, notice) = (0, notices[place])
        try reading.readRange { record in
            count += 1
            if count % Self.progressRecords == 0 { onProgress(Self.progressRecords) }
            if ErasureNotice.digest(in: record) == subject.digest { notice = record.offset }
            guard ErasureNotice.digest(in: record) == nil, ErasedRecord(record) == nil,
                isWanted(record)
            else { return }
            body(record)
        }
        onProgress(count % Self.progressRecords)
        notices[place] = notice
    }
}

extension ErasureFindings.Records {
    fileprivate mutating func add(_ record: RecordView) {
        records.append((record.offset, record.timestampMilliseconds))
        if let key = record.key { keys.insert(Array(key)) }
    }
}
