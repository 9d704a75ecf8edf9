import CSimulatedSystem
import EmbeddedLog
import EventLog

/// One machine with the real embedded log on its disk, all workers, and a producer that appends to the log.
final class EmbeddedMachine: RecordSink, LogOfProcesses {
    private struct Producer {
        let process: Int32
        let writer: any LogWriter
        let hasDiskFaults: Bool
    }

    let directory: String
    private let cluster: SimulatedCluster
    private var producer: Producer?
    /// The first thing that the log should not have done.
    private(set) var fault: (any Error)?

    /// - Parameter cluster: notes what happens.
    init(_ cluster: SimulatedCluster, directory: String) {
        self.cluster = cluster
        self.directory = directory
        archivePath = "\(directory)/archive.sqlite"
    }

    private var path: String { "\(directory)/log.sqlite" }
    var address: String { "sqlite:\(path)" }
    let archivePath: String
    /// The ends of what was archived, by topic and partition; workers of these topics read the archive first.
    var archivedEnds: [String: [Int32: Int64]] = [:]
    /// Whether the last set that was begun for a worker reads an archive, by the worker's name.
    var setHasArchive: [String: Bool] = [:]
    /// The last set that was replayed for a worker, by its name.
    var replayed: [String: String] = [:]

    /// Makes the log, with a topic for each stream.
    func begin(with streams: [String], partitionCount: () -> Int) throws {
        weir_sim_enter(0)
        let log = try EmbeddedLog(path: path, mode: .create)
        for stream in streams {
            try log.createTopic(stream, partitionCount: Int32(partitionCount()))
        }
    }

    func open(for _: Int32, in _: String) throws -> any LogBackend { try openLog() }

    func openLog() throws -> EmbeddedLog { try EmbeddedLog(path: path, mode: .existing) }

    func cover(_ transition: Transition) { cluster.cover(transition) }

    // MARK: The producer

    var isRunning: Bool { producer != nil }

    /// Starts the producer, unless its disk fails at once.
    func start(as process: Int32, chances: weir_sim_chances, seed: UInt64) {
        weir_sim_enter(process)
        weir_sim_set_chances(process, chances, seed)
        do {
            producer = Producer(
                process: process, writer: try openLog().writer(),
                hasDiskFaults: chances.isAny)
        } catch {
            judge(error, hasDiskFaults: chances.isAny)
        }
    }

    func send(_ record: OutgoingRecord, at milliseconds: Int64) -> RecordPosition? {
        guard let producer else { return nil }
        weir_sim_enter(producer.process)
        do {
            let positions = try producer.writer.append([record])
            guard !weir_sim_is_dead(producer.process) else {
                end(.producerKilled)
                return nil
            }
            cover(.acknowledged)
            return positions.first
        } catch {
            if weir_sim_is_dead(producer.process) {
                end(.producerKilled)
            } else {
                end(.producerFailed)
                judge(error, hasDiskFaults: producer.hasDiskFaults)
            }
            return nil
        }
    }

    private func end(_ transition: Transition) {
        cover(transition)
        producer = nil
    }

    private func judge(_ error: any Error, hasDiskFaults: Bool) {
        if case .disk = error as? LogError, hasDiskFaults { return }
        fault = fault ?? error
    }

    func kill() {
        guard let producer else { return }
        weir_sim_enter(producer.process)
        weir_sim_kill(producer.process)
        self.producer = nil
    }

    func crash(after calls: Int64) {
        if let producer { weir_sim_crash_after(producer.process, calls) }
    }

    /// All processes of the machine are over.
    func losePower(seed: UInt64, losesNames: Bool) {
        kill()
        weir_sim_lose_power(directory, seed, losesNames)
    }

    // MARK: What the log holds

    /// Each record's checksum is right.
    func verify() throws {
        weir_sim_enter(0)
        try openLog().verifyRecords()
    }

    /// Reads the archive first, where there is one.
    func reader(ofTopic name: String) throws -> any LogReader {
        let reader = try openLog().reader(topic: name, group: nil)
        guard archivedEnds[name] != nil else { return reader }
        return try ArchivedLogReader(path: archivePath, before: reader)
    }

    /// A copy of a topic, whose partitions each are in order; nil when there is none.
    func topic(_ name: String) throws -> SimulatedCluster.Topic? {
        weir_sim_enter(0)
        let log = try openLog()
        guard let found = try log.topics().first(where: { $0.name == name }) else { return nil }
        let topic = SimulatedCluster.Topic(
            name: name, number: 0, partitionCount: found.partitionCount)
        let reader = try reader(ofTopic: name)
        try reader.subscribe(.all)
        let batch = RecordBatch()
        var count = 0
        while try reader.read(into: batch, maxRecords: 1000, maxBytes: 1 << 24, waitMilliseconds: 0)
            != .idle
        {
            for index in 0..<batch.count {
                let record = batch[index]
                count += 1
                var headers: [OutgoingRecord.Header] = []
                record.headers.forEach { name, value in
                    headers.append(
                        OutgoingRecord.Header(
                            name: String(decoding: name, as: UTF8.self),
                            value: value.map { Array($0) }))
                    return true
                }
                topic.partitions[Int(record.partition)].records.append(
                    SimulatedCluster.Record(
                        number: count, offset: record.offset,
                        timestampMilliseconds: record.timestampMilliseconds,
                        key: record.key.map { Array($0) }, headers: headers,
                        value: record.value.map { Array($0) }))
            }
        }
        return topic
    }
}
