import ConfigurationFiles
import ConfigurationValues
import EventLog
import History
import Reports
import Store
import Streams

/// A row of a partition.
package struct StoredRowKey: Hashable {
    package var table: String
    package var partition: Int32
    package var columns: [StoredValue]

    package init(_ table: String, _ partition: Int32, _ columns: [StoredValue]) {
        self.table = table
        self.partition = partition
        self.columns = columns
    }
}

extension [StoredRowKey: [Int64]] {
    package mutating func add(_ measures: [Int64], to key: StoredRowKey) {
        let sums = self[key] ?? measures.map { _ in 0 }
        self[key] = zip(sums, measures).map { $0 + $1 }
    }

    /// What was added since, without rows of zeros.
    package func less(_ other: [StoredRowKey: [Int64]]) -> [StoredRowKey: [Int64]] {
        var difference: [StoredRowKey: [Int64]] = [:]
        for (key, measures) in self {
            let before = other[key] ?? measures.map { _ in 0 }
            let added = zip(measures, before).map { $0 - $1 }
            if added.contains(where: { $0 != 0 }) { difference[key] = added }
        }
        return difference
    }
}

/// What a store holds at a time.
package struct StoreState {
    package var sums: [StoredRowKey: [Int64]] = [:]
    package var nextOffsets: [Int32: Int64] = [:]

    package init() {}
}

/// A workplace for one stream, whichever it is.
package final class MeasuredWorkspace {
    package static let streams =
        WindowedStream.allCases.map(\.rawValue) + ["postbacks", "store-notifications", "costs"]

    package let workspace: Workspace
    package let stream: String
    package let notifications: SampleNotifications?

    package init(_ stream: String) throws {
        workspace = try Workspace()
        self.stream = stream
        notifications = stream == "store-notifications" ? try SampleNotifications() : nil
    }

    /// Writes a configuration; of another number, another one.
    package func configure(_ number: Int) throws {
        switch stream {
        case "postbacks":
            try workspace.configurePostbacks(
                "batch_records: 37\ntrust_development: \(number == 1)\n")
        case "store-notifications":
            try notifications?.configure(
                workspace, batch: 37, more: number == 1 ? "environments: [Production]" : "")
        case "costs":
            try workspace.write(
                "costs.yaml",
                "batch_records: 37\nmax_record_bytes: \(number == 1 ? 200 : 1_048_576)\n")
        default:
            try workspace.write(
                "\(stream).yaml",
                "batch_records: 37\ndedupe_window_seconds: \(number == 1 ? 600 : 3600)\n")
        }
    }

    package func records(_ count: Int, seed: UInt64) throws -> [OutgoingRecord] {
        if let notifications { return try notifications.records(count, seed: seed) }
        if stream == "costs" { return Samples.costs(count, seed: seed) }
        guard let windowed = WindowedStream(rawValue: stream) else {
            return try Samples.postbacks(count, seed: seed)
        }
        return windowed.records(count, seed: seed)
    }

    package func publish(_ records: [OutgoingRecord]) throws {
        try workspace.publish(stream, records)
    }

    package func fold() throws { try workspace.fold(stream, workspace.options()) }

    package var tables: [AggregateTable] { get throws { try Workspace.tables(of: stream) } }

    package func state() throws -> StoreState {
        var state = StoreState()
        for partition in try workspace.states(stream) {
            state.nextOffsets[partition.partition] = partition.nextOffset
        }
        for table in try tables {
            try workspace.forEachRow(of: table, stream: stream) { partition, columns, measures in
                guard measures.contains(where: { $0 != 0 }) else { return }
                state.sums[StoredRowKey(table.name, partition, columns)] = measures
            }
        }
        return state
    }

    /// Folds records under a configuration; of another number, another one.
    package func fold(_ records: [OutgoingRecord], under number: Int = 0) throws {
        try configure(number)
        try publish(records)
        try fold()
    }

    package func stores() throws -> OpenStores { try workspace.stores() }

    package func explainer(_ stores: OpenStores) throws -> Explainer {
        try workspace.explainer(stores)
    }

    /// Lends what folds the store's log again.
    package func withFolding(_ body: (LogRefolding, StoreSnapshot) throws -> Void) throws {
        try workspace.snapshot(stream) { snapshot in
            try body(
                LogRefolding(
                    stream: stream, snapshot: snapshot,
                    reader: workspace.openLog().reader(topic: stream), address: workspace.path,
                    rules: .pipelines(PipelineDirectory(workspace.pipelines))), snapshot)
        }
    }

    package func withFolding(_ body: (LogRefolding) throws -> Void) throws {
        try withFolding { folding, _ in try body(folding) }
    }
}

extension Workspace {
    package func explainer(_ stores: OpenStores) throws -> Explainer {
        let log = try openLog()
        return Explainer(
            stores: stores, openReader: { try log.reader(topic: $0) }, address: path,
            rules: .pipelines(PipelineDirectory(pipelines)))
    }
}
