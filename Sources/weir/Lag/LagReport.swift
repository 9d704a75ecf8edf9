import AggregateStore
import EventLog
import Foundation
import Inspection
import PartnerPostbacks
import Pipelines
import Streams

/// How far behind the log the stores of some directories are.
struct LagReport {
    /// By stream, then by topic.
    let streams: [StreamLag]
    private let nowMilliseconds: Int64?

    /// Compares every store that there is with the log.
    ///
    /// - Parameters:
    ///   - groups: the consumer groups of the workers that are configured; by default their programs' names.
    ///   - nowMilliseconds: the present, milliseconds since 1970; nil to look at no record's age.
    init(
        directories: [String], log: any LogBackend, groups: [PipelineStream: String] = [:],
        nowMilliseconds: Int64?
    ) throws {
        self.nowMilliseconds = nowMilliseconds
        var streams: [StreamLag] = []
        for stream in StoreSet.streams + [DeliveryStore.streamName] {
            let stores =
                stream == DeliveryStore.streamName
                ? try Self.deliveryStores(in: directories)
                : try Self.stores(of: stream, in: directories)
            for topic in Set(stores.map(\.topic)).sorted() {
                streams.append(
                    try StreamLag(
                        stream: stream, topic: topic,
                        group: PipelineStream(rawValue: stream).flatMap { groups[$0] },
                        stores: stores.filter { $0.topic == topic }, log: log,
                        nowMilliseconds: nowMilliseconds))
            }
        }
        self.streams = streams
    }

    private static func stores(
        of stream: String, in directories: [String]
    ) throws(StoreError) -> [StreamLag.Store] {
        var stores: [StreamLag.Store] = []
        for directory in directories {
            let path = try StoreSet.path(of: stream, in: directory)
            guard FileManager.default.fileExists(atPath: path) else { continue }
            let store = try StoreReader(path: path).snapshot { snapshot in
                let states = try snapshot.partitionStates()
                return StreamLag.Store(
                    path: path, topic: snapshot.topic, logIdentity: snapshot.logIdentity,
                    nextOffsets: states.reduce(into: [:]) { $0[$1.partition] = $1.nextOffset },
                    rungs: try states.flatMap { try snapshot.rungs(of: $0, from: 0) })
            }
            stores.append(store)
        }
        return stores
    }

    private static func deliveryStores(
        in directories: [String]
    ) throws(StoreError) -> [StreamLag.Store] {
        var stores: [StreamLag.Store] = []
        for directory in directories {
            let path = DeliveryStore.path(in: directory)
            guard FileManager.default.fileExists(atPath: path) else { continue }
            let store = try DeliveryStore(existing: path)
            let origin = try store.origin()
            stores.append(
                StreamLag.Store(
                    path: path, topic: origin.topic, logIdentity: origin.logIdentity,
                    nextOffsets: try store.nextOffsets(), waiting: try store.waiting()))
        }
        return stores
    }

    /// The report as text.
    func text(_ format: ReportFormat) -> String {
        switch format {
        case .table: table
        case .json: json
        }
    }
}

// MARK: Text

extension LagReport {
    private var table: String {
        guard !streams.isEmpty else { return "no stores\n" }
        let table = TextTable(
            header: [
                "stream", "partition", "next_offset", "earliest", "end", "lag", "lag_seconds",
                "committed_offset", "store", "note",
            ],
            isNumber: [false, true, true, true, true, true, true, true, false, false],
            rows: streams.flatMap { stream in
                stream.partitions.map { lag in
                    [
                        stream.stream, "\(lag.partition)", Self.cell(lag.nextOffset),
                        Self.cell(lag.earliestOffset), Self.cell(lag.endOffset),
                        Self.cell(lag.lag), Self.cell(lag.lagSeconds),
                        Self.cell(lag.committedOffset), lag.store ?? "", lag.note ?? "",
                    ]
                }
            })
        let summaries = streams.map(summary)
        return (table.lines + [""] + summaries).joined(separator: "\n") + "\n"
    }

    private static func cell(_ number: Int64?) -> String { number.map { "\($0)" } ?? "" }

    private func summary(_ stream: StreamLag) -> String {
        let partitions = stream.furthest
        let standing = partitions.count { $0.lag == nil && !$0.isUnanswered }
        let unanswered = partitions.count { $0.isUnanswered }
        let known = partitions.count - standing - unanswered
        var parts: [String] = []
        if known > 0 || partitions.isEmpty {
            var words = "\(stream.lag) records behind in \(known)"
            if known < partitions.count { words += " of \(partitions.count)" }
            words += " partitions"
            if let seconds = stream.lagSeconds, stream.lag > 0 {
                words += ", the oldest for \(seconds) s"
            }
            parts.append(words)
        }
        let unfolded = partitions.count { $0.store == nil }
        if unfolded > 0 { parts.append("\(unfolded) not folded by any store") }
        if standing > 0 { parts.append("\(standing) cannot go on: see the note") }
        if unanswered > 0 { parts.append("\(unanswered) not known now: see the note") }
        if let waiting = stream.waiting {
            var words = "\(waiting.count) pending"
            if let seconds = nowMilliseconds.flatMap(waiting.seconds) {
                words += ", the oldest for \(seconds) s"
            }
            parts.append(words)
        }
        return "\(stream.stream): " + parts.joined(separator: "; ")
    }

    private var json: String {
        var json = JSONText()
        json.object { json in
            json.name("streams")
            json.array { json in for stream in streams { write(stream, to: &json) } }
        }
        return json.text.withoutControlsInJSON + "\n"
    }

    private func write(_ stream: StreamLag, to json: inout JSONText) {
        json.object { json in
            json.name("stream")
            json.string(stream.stream)
            json.name("topic")
            json.string(stream.topic)
            Self.write("lag", stream.lag, to: &json)
            Self.write("lag_seconds", stream.lagSeconds, to: &json)
            if let waiting = stream.waiting {
                Self.write("pending", Int64(waiting.count), to: &json)
                Self.write(
                    "pending_seconds", nowMilliseconds.flatMap(waiting.seconds), to: &json)
            }
            json.name("partitions")
            json.array { json in for lag in stream.partitions { Self.write(lag, to: &json) } }
        }
    }

    private static func write(_ lag: PartitionLag, to json: inout JSONText) {
        json.object { json in
            json.name("partition")
            json.raw(lag.partition)
            write("next_offset", lag.nextOffset, to: &json)
            write("earliest", lag.earliestOffset, to: &json)
            write("end", lag.endOffset, to: &json)
            write("lag", lag.lag, to: &json)
            write("lag_seconds", lag.lagSeconds, to: &json)
            write("committed_offset", lag.committedOffset, to: &json)
            json.name("store")
            json.string(lag.store)
            json.name("note")
            json.string(lag.note)
        }
    }

    private static func write(_ name: String, _ number: Int64?, to json: inout JSONText) {
        json.name(name)
        json.raw(number.map { "\($0)" } ?? "null")
    }
}
