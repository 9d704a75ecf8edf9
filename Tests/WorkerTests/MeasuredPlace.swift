import AggregateStore
import EventLog
import Explanation
import Foundation
import Inspection
import Pipelines
import Simulation
import Streams
import Worker

/// A row of a partition.
struct RowKey: Hashable {
    var table: String
    var partition: Int32
    var columns: [StoredValue]

    init(_ table: String, _ partition: Int32, _ columns: [StoredValue]) {
        self.table = table
        self.partition = partition
        self.columns = columns
    }
}

extension [RowKey: [Int64]] {
    mutating func add(_ measures: [Int64], to key: RowKey) {
        let sums = self[key] ?? measures.map { _ in 0 }
        self[key] = zip(sums, measures).map { $0 + $1 }
    }

    /// What was added since, without rows of zeros.
    func less(_ other: [RowKey: [Int64]]) -> [RowKey: [Int64]] {
        var difference: [RowKey: [Int64]] = [:]
        for (key, measures) in self {
            let before = other[key] ?? measures.map { _ in 0 }
            let added = zip(measures, before).map { $0 - $1 }
            if added.contains(where: { $0 != 0 }) { difference[key] = added }
        }
        return difference
    }
}

/// What a store holds at a time.
struct StoreState {
    var sums: [RowKey: [Int64]] = [:]
    var nextOffsets: [Int32: Int64] = [:]
}

/// A workplace for one stream, whichever it is.
final class MeasuredPlace {
    static let streams =
        WindowedStream.allCases.map(\.rawValue) + ["postbacks", "store-notifications"]

    let place: Workplace
    let stream: String
    let notifications: SampleNotifications?

    init(_ stream: String) throws {
        place = try Workplace()
        self.stream = stream
        notifications = stream == "store-notifications" ? try SampleNotifications() : nil
    }

    /// Writes a configuration; of another number, another one.
    func configure(_ number: Int) throws {
        switch stream {
        case "postbacks":
            try place.write(
                "postbacks.yaml",
                "batch_records: 37\ntrust_development: \(number == 1)\n" + Samples.trustedKeys)
            try place.write("conversion-models/525463029.yaml", Samples.model)
            try place.write("partners/acme.yaml", Samples.partner)
        case "store-notifications":
            try notifications?.configure(
                place, batch: 37, more: number == 1 ? "environments: [Production]" : "")
        default:
            try place.write(
                "\(stream).yaml",
                "batch_records: 37\ndedupe_window_seconds: \(number == 1 ? 600 : 3600)\n")
        }
    }

    func records(_ count: Int, seed: UInt64) throws -> [OutgoingRecord] {
        if let notifications { return try notifications.records(count, seed: seed) }
        guard let windowed = WindowedStream(rawValue: stream) else {
            return try Samples.postbacks(count, seed: seed)
        }
        return windowed.records(count, seed: seed)
    }

    func publish(_ records: [OutgoingRecord]) throws {
        try place.publish(stream, records)
    }

    func fold() throws {
        if let windowed = WindowedStream(rawValue: stream) { return try place.fold(windowed) }
        if notifications == nil { try place.foldPostbacks() } else { try place.foldNotifications() }
    }

    var tables: [AggregateTable] {
        let own: [AggregateTable] =
            switch stream {
            case "bids": BidsFold.tables
            case "impressions": ImpressionsFold.tables
            case "overlay-clicks": OverlayClicksFold.tables
            case "conversion-updates": ConversionUpdatesFold.tables
            case "postbacks": PostbacksFold.tables
            default: StoreNotificationsFold.tables
            }
        return own + [OutcomeKey.table]
    }

    func state() throws -> StoreState {
        try StoreReader(path: "\(place.path)/data/\(stream).sqlite").snapshot { snapshot in
            var state = StoreState()
            for partition in try snapshot.partitionStates() {
                state.nextOffsets[partition.partition] = partition.nextOffset
            }
            for table in tables {
                try snapshot.forEachRow(of: table, partitions: Set(state.nextOffsets.keys)) {
                    partition, columns, measures in
                    guard measures.contains(where: { $0 != 0 }) else { return }
                    state.sums[RowKey(table.name, partition, columns)] = measures
                }
            }
            return state
        }
    }

    func stores() throws -> StoreSet {
        try StoreSet(directories: [place.path + "/data"])
    }

    func explainer(_ stores: StoreSet) throws -> Explainer {
        let log = try place.openLog()
        return Explainer(
            stores: stores, openReader: { try log.reader(topic: $0) }, address: place.path,
            rules: .pipelines(PipelineDirectory(place.pipelines)))
    }

    /// Lends what folds the store's log again.
    func withFolding(_ body: (LogRefolding, StoreSnapshot) throws -> Void) throws {
        try StoreReader(path: "\(place.path)/data/\(stream).sqlite").snapshot { snapshot in
            try body(
                LogRefolding(
                    stream: stream, snapshot: snapshot,
                    reader: place.openLog().reader(topic: stream), address: place.path,
                    rules: .pipelines(PipelineDirectory(place.pipelines))), snapshot)
        }
    }

    func withFolding(_ body: (LogRefolding) throws -> Void) throws {
        try withFolding { folding, _ in try body(folding) }
    }
}
