import ConfigurationValues
import EventLog
import Program
import Reports
import Streams
import Wording

/// Finds records that do not belong to a stream's topic: their type is not one of the topic's, or they have no type and
/// only another stream recognises their value. The log is append-only, so a record in the wrong topic cannot be
/// removed.
struct TopicCheck {
    private struct Stranger {
        var count: Int
        let firstLine: Int
        /// The topic that the records belong to; nil if no stream has the type.
        let topic: String?
    }

    private let topic: String
    private let own: any StreamFold.Type
    /// The topics of the streams, by the streams' names.
    private let topics: [String: String]
    private let reader: RecordKeyReader
    private(set) var checked = 0
    private var strangers: [String: Stranger] = [:]

    /// - Returns: nil for a topic without a stream.
    init?(topic: String, pipelines: PipelineDirectory) throws(CommandError) {
        var topics: [String: String] = [:]
        for stream in allStreams {
            // Programs that need a file report its errors.
            let configured =
                stream.isConfigured(in: pipelines) ? try? stream.file(in: pipelines) : nil
            topics[stream.streamName] = configured?.settings.topic ?? stream.streamName
        }
        guard let own = allStreams.first(where: { topics[$0.streamName] == topic }) else {
            return nil
        }
        guard let reader = RecordKeyReader() else {
            throw .failure("not enough memory for a JSON parser")
        }
        self.topic = topic
        self.own = own
        self.topics = topics
        self.reader = reader
    }

    /// Checks all records of a file. Publishing reports lines with errors.
    mutating func read(
        _ lines: LineReader, onProgress: (Int) -> Void
    ) throws(CommandError) {
        while let line = try lines.next() {
            let record = try? RecordLine.record(line, topic: topic, partitionCount: .max)
            guard let record else { continue }
            check(record, line: lines.lineNumber)
            if checked.isMultiple(of: 10_000) { onProgress(checked) }
        }
    }

    mutating func check(_ record: OutgoingRecord, line: Int) {
        checked += 1
        func header(_ name: String) -> String? {
            record.headers.first { $0.name == name }?.value
                .map { String(decoding: $0, as: UTF8.self) }
        }
        if header("content-type")?.lowercased().hasPrefix("application/cloudevents") == true {
            return note("CloudEvents in structured mode", of: nil, line: line)
        }
        if let type = header("ce_type") {
            guard !own.typeNames.contains(type) else { return }
            let owner = allStreams.first { $0.typeNames.contains(type) }
            return note("type \(type)", of: owner, line: line)
        }
        guard let value = record.value, reader.recognises(value, as: own) == false,
            let owner = allStreams.first(where: { reader.recognises(value, as: $0) == true })
        else { return }
        note("no ce_type, but the fields of \(owner.defaultType)", of: owner, line: line)
    }

    private mutating func note(_ kind: String, of owner: (any StreamFold.Type)?, line: Int) {
        let topic = owner.flatMap { topics[$0.streamName] }
        strangers[
            kind, default: Stranger(count: 0, firstLine: line, topic: topic)
        ].count += 1
    }

    /// Why the records so far must not be published; nil if they may. The check rejects records of another topic, and
    /// records that all lack a type of this topic. Single records of an unknown type are left to the worker.
    ///
    /// - Parameters:
    ///   - name: of the file.
    ///   - outcome: describes the records that are already in the log.
    func fault(in name: String, outcome: String) -> CommandError? {
        let foreign = strangers.filter { $0.value.topic != nil }
        let wrong = Self.count(strangers) == checked ? strangers : foreign
        guard !wrong.isEmpty else { return nil }
        let count = Self.count(wrong)
        let owners = Set(foreign.values.compactMap(\.topic))
        // Suggest another topic only if none of the records belongs to this one.
        let other = owners.count == 1 && Self.count(strangers) == checked ? owners.first : nil
        let remedy = other.map { "Give --topic \($0), or" } ?? "Correct them, or give"
        return .failure(
            "\(name): \(count) of \(counted(checked, "record")) "
                + "\(count == 1 ? "does" : "do") not belong to topic \(topic): "
                + "\(Self.list(wrong)). \(outcome). \(remedy) --force to publish them anyway")
    }

    /// The records that the worker will reject for their type; nil without any.
    func warning(in name: String) -> String? {
        let unknown = strangers.filter { $0.value.topic == nil }
        guard !unknown.isEmpty else { return nil }
        return
            "warning: \(name): no topic has the type of \(counted(Self.count(unknown), "record")), which the "
            + "worker of \(topic) will reject: \(Self.list(unknown))"
    }

    private static func count(_ strangers: [String: Stranger]) -> Int {
        strangers.values.reduce(0) { $0 + $1.count }
    }

    private static func list(_ strangers: [String: Stranger]) -> String {
        strangers.sorted { $0.value.firstLine < $1.value.firstLine }.map { kind, stranger in
            let owner = stranger.topic.map { ", of topic \($0)" } ?? ""
            return "\(stranger.count) with \(kind) (first in line \(stranger.firstLine)\(owner))"
        }.joined(separator: ", ")
    }
}
