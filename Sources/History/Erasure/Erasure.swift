import ConfigurationValues
import ConversionValues
import EmbeddedLog
import EventLog
import Foundation
import Program
import Store
import Streams

/// Erases what the log, the stores and the collector's file contain of a person, and finds the copies.
///
/// The order makes it repeatable after a kill at any moment. First a notice in the topic of conversion updates makes
/// collectors forget the install: it takes effect even if their file is rebuilt. Then the bytes of rejected records in
/// stores are erased, and then those of the log, which show what belongs to the person. A second run finds what is left.
package struct Erasure {
    private let subject: ErasureSubject
    private let log: any LogBackend
    /// Nil on Kafka.
    private let embedded: EmbeddedLog?
    private let directories: [String]
    private let pipelines: PipelineDirectory
    private let others: [String]
    package var onProgress: (Int) -> Void = { _ in }
    /// Whether a directory is a backup.
    package var isBackup: (String) -> Bool = { _ in false }
    /// Whether a directory has parts of databases: `records(inCopy:)` counts in databases that are put together.
    package var hasParts: (String) -> Bool = { _ in false }
    /// How long to wait until workers release their stores, and until a collector has read the notice.
    package var patience = Duration.seconds(30)

    /// The most times that records which arrive during the erasure are looked for.
    private static let mostRounds = 5
    private static let pauseMicroseconds: UInt32 = 100_000

    /// - Parameters:
    ///   - directories: the data directories with the stores of the log.
    ///   - others: files and directories that may contain copies, such as archives and backups.
    package init(
        of subject: ErasureSubject, in log: any LogBackend, directories: [String],
        _ pipelines: PipelineDirectory, others: [String] = []
    ) {
        self.subject = subject
        self.log = log
        embedded = log as? EmbeddedLog
        self.directories = directories
        self.pipelines = pipelines
        self.others = others
    }

    /// Finds everything, and changes nothing.
    package func find() throws -> ErasureFindings {
        var scan = ErasureScan(subject, in: log, onProgress: onProgress)
        return try find(&scan)
    }

    private func find(_ scan: inout ErasureScan) throws -> ErasureFindings {
        var findings = ErasureFindings()
        try scan.read(topics())
        findings.records = try settled(scan.found)
        let files = try files(others)
        findings.refused = try files.refused(findings.records)
        findings.installs = try files.installs()
        findings.copies = try files.copies()
        return findings
    }

    /// Erases everything that can be erased, and returns what it was.
    ///
    /// - Parameter onStep: called after each step; its error ends the erasure there.
    package func run(onStep: (ErasureStep) throws -> Void = { _ in }) throws -> ErasureFindings {
        var scan = ErasureScan(subject, in: log, onProgress: onProgress)
        var findings = try find(&scan)
        // A fault of the configuration shall end it before anything is changed.
        _ = try notificationReader(findings.records)
        try announce(findings, scan.notices)
        try onStep(.announced)
        for refused in findings.refused { try erase(refused) }
        try onStep(.refusedEmptied)
        try empty(findings.records)
        try onStep(.emptied)
        try eraseArrivals(since: scan, &findings)
        // A worker may have folded a record between both steps, and a collector may have answered.
        let late = try files([])
        let lateRefused = try late.refused(findings.records)
        for refused in lateRefused { try erase(refused) }
        findings.refused += lateRefused
        try onStep(.arrivalsEmptied)
        for installs in findings.installs + (try late.installs()) { try follow(installs) }
        try onStep(.installsForgotten)
        // A run that was killed may have left bytes there.
        if let embedded, try !embedded.truncateWriteAheadLog() {
            throw ErasureError.keptByReader(address: embedded.address)
        }
        findings.copies += ErasureFiles.remains(of: subject, in: log, findings.installs)
        return findings
    }

    /// The number of records and states of the person in a database.
    package func records(inCopy path: String) throws -> Int {
        try ErasureFiles.records(of: subject, inCopy: path)
    }

    private func files(_ others: [String]) throws -> ErasureFiles {
        try ErasureFiles(
            subject, log: log, directories: directories, others: others,
            snapshots: try snapshotDirectories(), isBackup: isBackup, hasParts: hasParts)
    }

    /// The directories of snapshots of all streams.
    private func snapshotDirectories() throws -> [String] {
        Set(
            try allStreams.filter { $0.isConfigured(in: pipelines) }
                .compactMap { try $0.file(in: pipelines).settings.snapshots }
        ).sorted()
    }

    // MARK: The log

    /// All topics of an embedded log. A cluster may have topics of others, so only Weir's.
    private func topics() throws -> [TopicDescription] {
        let all = try log.topics()
        guard embedded == nil else { return all }
        var names = Set(
            try allStreams.flatMap { stream in
                let topic =
                    stream.isConfigured(in: pipelines)
                    ? try stream.file(in: pipelines).settings.topic : stream.streamName
                return [topic, "\(topic).dlq"]
            })
        names.insert(InstallLedger.topic)
        return all.filter { names.contains($0.name) }
    }

    /// Adds what will become of the records.
    private func settled(
        _ records: [ErasureFindings.Records]
    ) throws -> [ErasureFindings.Records] {
        guard embedded == nil else { return records }
        var fates: [String: ErasureFindings.Fate] = [:]
        return try records.map { records in
            let fate = try fates[records.topic] ?? fate(ofTopic: records.topic)
            fates[records.topic] = fate
            var settled = records
            settled.fate = fate
            return settled
        }
    }

    private func fate(ofTopic topic: String) throws -> ErasureFindings.Fate {
        let settings = try log.settings(ofTopic: topic) ?? [:]
        let policies = (settings["cleanup.policy"] ?? "delete").split(separator: ",")
        if policies.contains("compact") { return .compacted }
        let retention = settings["retention.ms"].flatMap { Int64($0) } ?? -1
        return .kept(retentionMilliseconds: retention < 0 ? nil : retention)
    }

    /// Appends notices for collectors, and tombstones for compaction, unless they are in the log already.
    private func announce(
        _ findings: ErasureFindings, _ notices: [TopicPartition: Int64]
    ) throws {
        guard let topic = try topics().first(where: { $0.name == InstallLedger.topic }) else {
            return try announceCompaction(findings.records, notices)
        }
        var partitions = Set(
            findings.records.filter { $0.topic == topic.name && isNewer($0, than: notices) }
                .map(\.partition))
        for installs in findings.installs {
            let progress = try ConversionStoreProgress(path: installs.path)
            partitions.formUnion(
                try StoredInstalls.partitions(id: subject.id, at: installs.path).filter {
                    // A collector that has not read a notice yet needs no other one.
                    let place = TopicPartition(topic: topic.name, partition: $0)
                    return progress?.nextOffsets[$0] ?? .max > notices[place] ?? -1
                })
        }
        // There, tombstones announce it.
        let keyed = Set(
            findings.records.filter {
                $0.topic == topic.name && $0.fate == .compacted && isNewer($0, than: notices)
            }.map(\.partition))
        if !topic.isArchive {
            try append(
                partitions.subtracting(keyed).sorted().map {
                    OutgoingRecord(
                        topic: topic.name, partition: $0, key: nil,
                        headers: ErasureNotice.headers(subject.digest), value: nil)
                })
        }
        try announceCompaction(findings.records, notices)
    }

    private func announceCompaction(
        _ records: [ErasureFindings.Records], _ notices: [TopicPartition: Int64]
    ) throws {
        for records in records where records.fate == .compacted && isNewer(records, than: notices) {
            try append(
                records.keys.sorted { $0.lexicographicallyPrecedes($1) }.map {
                    OutgoingRecord(
                        topic: records.topic, partition: records.partition, key: $0,
                        headers: ErasureNotice.headers(subject.digest), value: nil)
                })
        }
    }

    /// Whether some of the records come after the last notice in their partition.
    private func isNewer(
        _ records: ErasureFindings.Records, than notices: [TopicPartition: Int64]
    ) -> Bool {
        let place = TopicPartition(topic: records.topic, partition: records.partition)
        return records.records.contains { $0.offset > notices[place] ?? -1 }
    }

    private func append(_ records: [OutgoingRecord]) throws {
        guard !records.isEmpty else { return }
        try log.writer().append(records)
    }

    private func empty(_ found: [ErasureFindings.Records]) throws {
        guard let embedded else { return }
        let notifications = try notificationReader(found)
        for records in found {
            try embedded.erase(
                topic: records.topic, identity: records.identity, partition: records.partition,
                offsets: records.records.map(\.offset),
                keeping: { record in
                    records.topic == notifications?.topic
                        ? notifications?.reader.id(of: record)?.hexDigits : nil
                }, didErase: onProgress)
        }
    }

    /// Reads the ids of store notifications, which stay: Apple lists notifications for months, and an erased one must
    /// not be appended again. Nil if there are none, or if the stream is not configured.
    private func notificationReader(
        _ found: [ErasureFindings.Records]
    ) throws -> (topic: String, reader: NotificationReader)? {
        guard embedded != nil, StoreNotificationsFold.isConfigured(in: pipelines) else {
            return nil
        }
        let topic = try StoreNotificationsFold.file(in: pipelines).settings.topic
        guard found.contains(where: { $0.topic == topic }) else { return nil }
        let rules = try StoreNotificationsFold.rules(in: pipelines)
        return (topic, try NotificationReader(rules, threadCount: 1))
    }

    /// Erases records that were appended during the erasure, for example by a collector that had not read the notice.
    private func eraseArrivals(
        since first: ErasureScan, _ findings: inout ErasureFindings
    ) throws {
        var (ends, lines) = (first.ends, first.lines)
        for _ in 0..<Self.mostRounds {
            var scan = ErasureScan(subject, in: log, lines: lines, onProgress: onProgress)
            try scan.read(topics(), from: ends)
            lines = scan.lines
            guard !scan.found.isEmpty else { return }
            ends.merge(scan.ends) { $1 }
            var arrived = ErasureFindings()
            arrived.records = try settled(scan.found)
            try announce(arrived, scan.notices)
            try empty(arrived.records)
            findings.records += arrived.records
        }
        throw ErasureError.stillArriving(topic: findings.records.last?.topic ?? "")
    }

    // MARK: Stores and installs

    /// Empties rejected records in a store. A worker that uses it is asked to release it, as for a promotion.
    private func erase(_ refused: ErasureFindings.Refused) throws {
        var request: PromotionRequest?
        defer { withExtendedLifetime(request) {} }
        let deadline = ContinuousClock.now + patience
        while true {
            do throws(StoreError) {
                let lock = try StoreLock(storePath: refused.path)
                return try RefusedBytes(path: refused.path).erase(refused.places, holding: lock)
            } catch {
                guard case .locked(_, let owner) = error else { throw error }
                guard ContinuousClock.now < deadline else {
                    throw ErasureError.storeInUse(
                        path: refused.path, detail: owner.isEmpty ? "locked" : owner)
                }
            }
            if request == nil { request = try PromotionRequest(directory: refused.data) }
            usleep(Self.pauseMicroseconds)
        }
    }

    /// Waits until the states of the install are deleted: by the collector that uses the file, or here.
    private func follow(_ installs: ErasureFindings.Installs) throws {
        let deadline = ContinuousClock.now + patience
        while try StoredInstalls.count(id: subject.id, at: installs.path) > 0 {
            do throws(ConversionServiceError) {
                try StoredInstalls.follow(log, at: installs.path)
            } catch {
                guard case .store(.locked) = error else {
                    throw ErasureError.installs(path: installs.path, detail: "\(error)")
                }
            }
            guard ContinuousClock.now < deadline else {
                throw ErasureError.installs(
                    path: installs.path, detail: "its collector has not read the notice yet")
            }
            usleep(Self.pauseMicroseconds)
        }
    }
}

/// The steps of an erasure. If it is stopped after any of them, the log is consistent and a second run continues.
package enum ErasureStep: CaseIterable, Sendable {
    /// Notices for collectors are in the log.
    case announced
    /// The bytes of rejected records in stores are erased.
    case refusedEmptied
    /// The records of the log are emptied.
    case emptied
    /// Records that arrived in the meantime are emptied, in the log and in stores.
    case arrivalsEmptied
    /// The collectors' files contain no state of the install.
    case installsForgotten
}
