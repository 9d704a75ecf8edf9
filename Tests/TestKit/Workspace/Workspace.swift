import ConfigurationValues
import EmbeddedLog
import Engine
import EventLog
import Foundation
import GRDB
import Program
import Reports
import Store
import Streams

/// A temporary directory with a log, a configuration and stores; removed at the end.
package final class Workspace {
    private let directory: TemporaryDirectory
    package var path: String { directory.path }
    package var pipelines: String { path + "/pipelines" }
    /// Another log than the workplace's own may take its place.
    package lazy var logAddress = LogAddress.sqlite(path: path + "/log.sqlite")

    package init() throws {
        directory = try TemporaryDirectory()
        for stream in WindowedStream.allCases.map(\.rawValue) + ["postbacks"] {
            try write("\(stream).yaml", "batch_records: 100\n")
        }
    }

    /// Writes a file of the configuration.
    package func write(_ name: String, _ text: String) throws {
        try directory.write(text, to: "pipelines/\(name)")
    }

    /// Removes a file of the configuration.
    package func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: pipelines + "/" + name)
    }

    /// Postbacks are decoded under `Samples.model`, and published to `Samples.partner`.
    package func configurePostbacks(_ settings: String = "") throws {
        try write("postbacks.yaml", settings + Samples.trustedKeys)
        try write(Samples.modelFile, Samples.model)
        try write("partners/acme.yaml", Samples.partner)
    }

    package func openLog() throws -> EmbeddedLog {
        try EmbeddedLog(path: path + "/log.sqlite", mode: .create)
    }

    /// Appends records to a topic, which is made with 4 partitions.
    package func publish(_ topic: String, _ records: [OutgoingRecord]) throws {
        let log = try openLog()
        try log.createTopic(topic, partitionCount: 4)
        try log.writer().append(records)
    }

    package func publish(_ topic: String, _ records: OutgoingRecord...) throws {
        try publish(topic, records)
    }

    /// Publishes auctions of one bid each, in partition 0.
    package func publishAuctions(_ ids: String...) throws {
        try publish("bids", ids.map { Samples.bid($0) })
    }

    /// Publishes postbacks that are trusted, in partition 0.
    package func publishPostbacks(_ transactions: String...) throws {
        try publish("postbacks", transactions.map { try Samples.signed($0) })
    }

    /// Every record of a topic, by partition and offset.
    package func records(_ topic: String) throws -> [ReadRecord] {
        try openLog().records(of: topic)
    }

    package func options(
        data: String = "data", log: LogAddress? = nil, pipelines: String? = nil,
        untilEnd: Bool = true
    ) -> WorkerOptions {
        WorkerOptions(
            log: log ?? logAddress, data: path + "/" + data, pipelines: pipelines ?? self.pipelines,
            untilEnd: untilEnd)
    }

    /// As the command line gives them.
    package func options(data: String = "data", _ arguments: [String]) throws -> WorkerOptions {
        try WorkerOptions.parse(commandLine(data: data) + arguments)
    }

    /// The options that every program has.
    package func commandLine(data: String = "data", log: String? = nil) -> [String] {
        [
            "--log", log ?? logAddress.description, "--data", path + "/" + data, "--pipelines",
            pipelines,
        ]
    }

    /// Starts a program on the log, configuration and stores.
    ///
    /// - Parameter log: address of the event log; by default the workplace's own.
    package func start(
        _ program: String, data: String = "data", log: String? = nil, _ arguments: [String] = []
    ) throws -> Program { try Program(program, commandLine(data: data, log: log) + arguments) }

    /// Runs a program to its end.
    package func run(
        _ program: String, data: String = "data", log: String? = nil,
        _ arguments: [String] = ["--until-end"]
    ) throws -> Program { try Program.run(program, commandLine(data: data, log: log) + arguments) }

    /// Starts a command of `weir`.
    package func startWeir(_ command: String, _ arguments: [String]) throws -> Program {
        try Program("weir", [command] + commandLine() + arguments)
    }

    /// Folds a stream to the end of the log.
    package func fold(_ stream: String, _ options: WorkerOptions, lanes: Int? = nil) throws {
        guard let stream = Streams.stream(named: stream) else {
            throw TestFault("no worker folds \(stream)")
        }
        try stream.work(options, lanes: lanes, stop: StopSignal())
    }

    package func fold(_ stream: WindowedStream, data: String = "data") throws {
        try fold(stream.rawValue, options(data: data))
    }

    package func foldBids(data: String = "data") throws { try fold(.bids, data: data) }

    package func foldPostbacks(data: String = "data") throws {
        try fold("postbacks", options(data: data))
    }

    package func foldNotifications(data: String = "data") throws {
        try fold("store-notifications", options(data: data))
    }

    package func stores(_ data: String = "data") throws -> OpenStores {
        try OpenStores(directories: [path + "/" + data])
    }

    /// Reads a store as it is now.
    package func snapshot<Result>(
        _ stream: String, data: String = "data", _ body: (StoreSnapshot) throws -> Result
    ) throws -> Result { try StoreReader(path: "\(path)/\(data)/\(stream).sqlite").snapshot(body) }

    package func states(_ stream: String, data: String = "data") throws -> [PartitionState] {
        try snapshot(stream, data: data) { try $0.partitionStates() }
    }

    /// How many records of all partitions are folded; nil while there is no store.
    package func folded(_ stream: String, data: String = "data") -> Int64? {
        try? states(stream, data: data).reduce(0) { $0 + $1.nextOffset }
    }

    /// Waits until so many records are folded, and fails when it is not so in time.
    package func waitUntilFolded(_ count: Int64, _ stream: String, data: String = "data") throws {
        guard Wait.until(seconds: 2 * Wait.seconds, { folded(stream, data: data) == count }) else {
            throw TestFault("\(folded(stream, data: data) ?? -1) of \(count) \(stream) are folded")
        }
    }

    /// A measure of an aggregate, summed over the rows whose columns have these values.
    package func sum(
        _ measure: String, of name: String, where columns: [String: String] = [:], stream: String,
        data: String = "data"
    ) throws -> Int64 {
        let table = try Self.tables(of: stream).first { $0.name == name }
        guard let table, let index = table.measures.firstIndex(of: measure) else {
            throw TestFault("\(stream) has no \(name) with \(measure)")
        }
        var sum: Int64 = 0
        try forEachRow(of: table, stream: stream, data: data) { _, values, measures in
            let row = zip(table.columns, values)
            let isMeant = columns.allSatisfy { column in
                row.contains { $0.name == column.key && $1.explanation == column.value }
            }
            if isMeant { sum += measures[index] }
        }
        return sum
    }

    /// How many records of a stream had an outcome.
    package func outcome(
        _ outcome: Outcome, _ stream: String, data: String = "data"
    ) throws -> Int64 {
        try sum(
            OutcomeKey.table.measures[outcome.rawValue], of: "outcomes", stream: stream, data: data)
    }

    package func forEachRow(
        of table: AggregateTable, stream: String, data: String = "data",
        _ body: (_ partition: Int32, _ columns: [StoredValue], _ measures: [Int64]) throws -> Void
    ) throws {
        try snapshot(stream, data: data) { snapshot in
            let partitions = Set(try snapshot.partitionStates().map(\.partition))
            try snapshot.forEachRow(of: table, partitions: partitions) {
                try body($0, $1, $2.amounts)
            }
        }
    }

    /// The records that were kept instead of counted, without their bytes.
    package func refused(_ stream: String, data: String = "data") throws -> [StoredRefusal] {
        try snapshot(stream, data: data) { snapshot in
            try snapshot.partitionStates().flatMap { try snapshot.refused(partition: $0.partition) }
        }
    }

    /// The offsets of refused records with this reason.
    package func refused(
        for reason: String, _ stream: String, data: String = "data"
    ) throws -> [Int64] {
        try refused(stream, data: data).filter { $0.reason == reason }.map(\.offset)
    }

    /// How many ids a store remembers.
    package func idCount(_ stream: String, data: String = "data") throws -> Int {
        try snapshot(stream, data: data) { snapshot in
            var count = 0
            for partition in try snapshot.partitionStates() {
                try snapshot.forEachRememberedID(of: partition) { _ in count += 1 }
            }
            return count
        }
    }

    /// The aggregates of a stream, and `outcomes`.
    package static func tables(of stream: String) throws -> [AggregateTable] {
        guard let stream = Streams.stream(named: stream) else {
            throw TestFault("no worker folds \(stream)")
        }
        return stream.tables + [OutcomeKey.table]
    }

    /// Everything in a store that follows from the log, as text: equal for equal stores.
    ///
    /// - Parameter ofOneLog: whether the name of the log counts.
    package func contents(
        _ stream: String, data: String = "data", ofOneLog: Bool = true
    ) throws -> [String] {
        try open(stream, data).read { db in
            let tables = try String.fetchAll(
                db, sql: "SELECT name FROM sqlite_schema WHERE type <> 'index' ORDER BY name")
            // An aggregate's keys and sums are compared together, as its view shows them. The index of ids and the
            // blocks of contributions follow from the commits too.
            let parts =
                ["dedupe", "contributions"] + (ofOneLog ? [] : ["store"])
                + tables.flatMap { ["\($0)_keys", "\($0)_sums", "\($0)_recent", "\($0)_runs"] }
            return try tables.filter { !parts.contains($0) && !$0.hasPrefix("sqlite_") }.flatMap {
                table in
                let columns = try db.columns(in: table).map(\.name).filter {
                    !["number", "slot", "emit_from", "dead_letters_next", "outbox_emitted"]
                        .contains($0)
                }
                return try Row.fetchAll(
                    db, sql: "SELECT \(columns.joined(separator: ", ")) FROM \(table)"
                ).map { "\(table) \($0)" }.sorted()
            }
        }
    }

    /// Changes a store behind its back.
    package func execute(_ sql: String, stream: String, data: String = "data") throws {
        try open(stream, data, readonly: false).inDatabase { try $0.execute(sql: sql) }
    }

    /// What no reader shows.
    package func texts(_ sql: String, stream: String, data: String = "data") throws -> [String] {
        try open(stream, data).inDatabase { try String.fetchAll($0, sql: sql) }
    }

    package func integer(_ sql: String, stream: String, data: String = "data") throws -> Int64? {
        try open(stream, data).inDatabase { try Int64.fetchOne($0, sql: sql) }
    }

    /// Only read, a store that is not there yet is not made by looking for it.
    private func open(
        _ stream: String, _ data: String, readonly: Bool = true
    ) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = readonly
        configuration.busyMode = .timeout(30)
        return try DatabaseQueue(
            path: "\(path)/\(data)/\(stream).sqlite", configuration: configuration)
    }
}

extension StoredValue {
    /// As a person writes it.
    package var explanation: String {
        switch self {
        case .text(let text): text
        case .integer(let integer): "\(integer)"
        }
    }
}
