import Engine
import EventLog
import Foundation
import JSON
import Reports
import Store
import Streams

/// Compares the App Store's history of notifications with a log, and appends those that the log lacks.
///
/// A notification is present if the log has it with valid signatures, or if a store remembers it permanently: retention
/// may have removed its record. It is present too if its record was erased: the digest of its id has stayed.
///
/// The run requests the history day by day, and appends the missing notifications of a day before it requests the next
/// one. A run that ends early leaves the rest to the next run.
package struct NotificationReconciliation {
    package struct Question: Sendable {
        package var scope: NotificationScope
        /// Only notifications that have not reached the server.
        package var onlyFailures: Bool
        /// Appends nothing.
        package var isDryRun: Bool

        package init(scope: NotificationScope, onlyFailures: Bool, isDryRun: Bool) {
            self.scope = scope
            self.onlyFailures = onlyFailures
            self.isDryRun = isDryRun
        }
    }

    package enum Progress: Sendable {
        case read(records: Int)
        /// `upTo` is the end of the finished day, in milliseconds since 1970.
        case compared(listed: Int, missing: Int, upTo: Int64)
    }

    /// A notification that the log does not have.
    private struct Candidate {
        let notification: IdentifiedNotification
        /// Why it must not be appended; nil if it is to be.
        let refusal: String?
        /// The body of Apple's request.
        let body: [UInt8]
    }

    /// Apple does not document whether a period means the time of signing or of sending. So the run asks for this much
    /// more at both ends, and counts by the time of signing.
    private static let marginMilliseconds: Int64 = 3_600_000
    /// Whether the App Store's periods include their ends is not documented either.
    private static let overlapMilliseconds: Int64 = 1000
    /// Records that were appended longer ago than their signature are imported ones, which the store remembers.
    private static let clockDifferenceMilliseconds: Int64 = 86_400_000
    /// The most missing notifications in memory.
    private static let candidatesAtOnce = 2000
    /// `ce_source` of appended records.
    static let source = "/inApps/v1/notifications/history"

    private let question: Question
    private let api: AppStoreServerAPI
    private let reader: NotificationReader
    private let keys: RecordKeyReader
    private let log: any LogBackend
    private let topic: String
    private let stores: [StoreReader]
    private let nowMilliseconds: Int64
    private let progress: (Progress) -> Void
    private var logged: LoggedNotifications
    private var listed: Set<RecordID> = []
    private var candidates: [Candidate] = []
    private var result: ReconciledNotifications

    /// - Parameters:
    ///   - rules: of the worker that folds the topic.
    ///   - topic: the topic of notifications in the log.
    ///   - directories: the data directories; their stores may be missing.
    ///   - nowMilliseconds: the clock, not before the end of the period.
    package init(
        _ question: Question, api: AppStoreServerAPI, rules: StoreNotificationsRules,
        log: any LogBackend, topic: String, directories: [String], nowMilliseconds: Int64,
        threadCount: Int = ProcessInfo.processInfo.activeProcessorCount,
        progress: @escaping (Progress) -> Void = { _ in }
    ) throws {
        guard let keys = RecordKeyReader() else { throw NoMemory(for: "a JSON parser") }
        self.question = question
        self.api = api
        self.log = log
        self.topic = topic
        self.keys = keys
        self.nowMilliseconds = nowMilliseconds
        self.progress = progress
        reader = try NotificationReader(rules, threadCount: threadCount)
        result = ReconciledNotifications(question)
        logged = LoggedNotifications()
        let logReader = try log.reader(topic: topic, group: nil)
        (stores, result.notices) = try Self.stores(directories, of: logReader)
        if stores.isEmpty, result.notices.isEmpty {
            result.notices.append(
                "\(directories.joined(separator: ", ")) has no store of store notifications, so only the log tells which ones are present. Those that retention has removed, or that were erased on Kafka, count as missing: give the --data of the worker"
            )
        }
        try readLog(logReader)
    }

    /// Asks for the history, appends missing notifications unless it is a dry run, and returns the result. After an
    /// error, `appended` counts the records that are durable.
    package mutating func run() throws -> ReconciledNotifications {
        let writer = question.isDryRun ? nil : try log.writer()
        for window in windows {
            do {
                try read(window, writer)
            } catch AppStoreAPIFault.tokenRefused {
                // Tokens expire. Notifications that were listed already are recognised.
                try read(window, writer)
            }
            try flush(writer)
            progress(
                .compared(
                    listed: listed.count, missing: result.missing.count + result.appended.count,
                    upTo: window.upperBound))
        }
        if !question.onlyFailures {
            // The history may not list what was signed just now.
            let end = nowMilliseconds - Self.marginMilliseconds
            for found in logged.others(than: listed, signedBefore: end) {
                result.add(surplus: found)
            }
        }
        return result
    }

    /// The number of records that are appended so far.
    package var appended: Int { result.appended.count }

    /// The days of the period with margins, in order. Each overlaps the previous one.
    private var windows: [Range<Int64>] {
        let (period, day) = (question.scope.period, ReconciledNotifications.dayMilliseconds)
        let oldest =
            nowMilliseconds - AppStoreServerAPI.days(of: question.scope.environment) * day + 60_000
        let start = max(period.lowerBound - Self.marginMilliseconds, oldest)
        let end = min(period.upperBound + Self.marginMilliseconds, nowMilliseconds)
        var windows: [Range<Int64>] = []
        var next = min(start, period.lowerBound)
        while next < end {
            let midnight = (next / day + 1) * day
            let upper = min(midnight, end)
            let lower = windows.isEmpty ? next : next - Self.overlapMilliseconds
            windows.append(lower..<upper)
            next = upper
        }
        return windows
    }

    // MARK: Reading the log and the stores

    private mutating func readLog(_ logReader: any LogReader) throws {
        let start = question.scope.period.lowerBound - Self.clockDifferenceMilliseconds
        var reading = try TopicReading(
            logReader, partition: nil, from: .time(max(start, 0)), to: nil)
        var records = 0
        let (reader, scope) = (reader, question.scope)
        try reading.readBatches { batch, count in
            for (index, found) in reader.notifications(in: batch, count: count, scope).enumerated()
            {
                let record = batch[index]
                if record.value == nil, let erased = ErasedRecord(record) {
                    logged.addErased(erased.id)
                }
                guard let found else { continue }
                logged.add(found, partition: record.partition, offset: record.offset)
            }
            records += count
            progress(.read(records: records))
        }
    }

    /// The stores of the topic, and a notice for each store that belongs to another log.
    private static func stores(
        _ directories: [String], of reader: any LogReader
    ) throws -> ([StoreReader], notices: [String]) {
        let identity = try reader.identity()
        var (stores, notices): ([StoreReader], [String]) = ([], [])
        for directory in directories {
            let path = try OpenStores.path(of: StoreNotificationsFold.streamName, in: directory)
            guard FileManager.default.fileExists(atPath: path) else { continue }
            let store = try StoreReader(path: path)
            let (origin, states) = try store.snapshot(verifying: false) { snapshot in
                ((snapshot.topic, snapshot.logIdentity), try snapshot.partitionStates())
            }
            // Later than the store, because its worker may continue.
            let ends = try reader.bounds()
            let isOfLog =
                origin == (reader.topic, identity)
                && states.allSatisfy { state in
                    ends.contains {
                        $0.partition == state.partition && state.nextOffset <= $0.endOffset
                    }
                }
            if isOfLog {
                stores.append(store)
            } else {
                notices.append(
                    "\(path) was folded from another log than \(reader.topic), so its ids are not used: give the --data and --log of one installation"
                )
            }
        }
        return (stores, notices)
    }

    // MARK: Reading the history

    private mutating func read(_ window: Range<Int64>, _ writer: (any LogWriter)?) throws {
        var token: String?
        repeat {
            let page = try api.page(
                of: window, onlyFailures: question.onlyFailures, after: token)
            for (payload, found) in zip(page.payloads, reader.notifications(of: page.payloads)) {
                judge(payload, found, window)
            }
            if candidates.count >= Self.candidatesAtOnce { try flush(writer) }
            token = page.token
        } while token != nil
    }

    private mutating func judge(
        _ payload: [UInt8], _ found: IdentifiedNotification?, _ window: Range<Int64>
    ) {
        let scope = question.scope
        guard let found else {
            // Without an id it is reported for each listing of it.
            return result.add(
                refused: nil, day: window.lowerBound,
                "it is not a JWS with notificationUUID and signedDate")
        }
        guard scope.period.contains(found.signedAtMilliseconds),
            listed.insert(found.id).inserted
        else { return }
        result.add(listed: found)
        if logged.isPresent(found.id) || logged.isErased(found.id) {
            return result.add(present: found)
        }
        let reason: String? =
            if found.bundleID != scope.bundleID {
                "its bundleId is '\(found.bundleID)'"
            } else if found.environment != scope.environment {
                "its environment is \(found.environment?.rawValue ?? "unknown")"
            } else {
                found.distrust?.description
            }
        candidates.append(
            Candidate(notification: found, refusal: reason, body: Self.body(payload)))
    }

    /// The body of Apple's request with a JWS.
    private static func body(_ payload: [UInt8]) -> [UInt8] {
        var body: [UInt8] = Array("{\"signedPayload\":".utf8)
        JSONText.append(string: payload, to: &body)
        body.append(UInt8(ascii: "}"))
        return body
    }

    // MARK: Appending

    /// Looks the candidates up in the stores, and appends the others.
    private mutating func flush(_ writer: (any LogWriter)?) throws {
        guard !candidates.isEmpty else { return }
        let ids = Set(candidates.map(\.notification.id))
        var remembered: Set<RecordID> = []
        for store in stores {
            remembered.formUnion(
                try store.snapshot(verifying: false) { try $0.remembered(among: ids) })
        }
        let others = candidates.filter { !remembered.contains($0.notification.id) }
            .sorted {
                ($0.notification.signedAtMilliseconds, $0.notification.id)
                    < ($1.notification.signedAtMilliseconds, $1.notification.id)
            }
        for candidate in candidates where remembered.contains(candidate.notification.id) {
            result.add(present: candidate.notification)
        }
        candidates.removeAll(keepingCapacity: true)
        var records: [OutgoingRecord] = []
        for candidate in others {
            let found = candidate.notification
            if let refusal = candidate.refusal {
                result.add(refused: found, day: found.signedAtMilliseconds, refusal)
                continue
            }
            do throws(Rejection) {
                records.append(try record(candidate))
                result.add(missing: found)
            } catch {
                result.add(
                    refused: found, day: found.signedAtMilliseconds,
                    "\(error.reason.name): \(error.detail)")
            }
        }
        guard let writer, !records.isEmpty else { return }
        try writer.append(records)
        result.noteAppended()
    }

    /// The record that the collector would have appended for the request, except for id and source.
    private func record(_ candidate: Candidate) throws(Rejection) -> OutgoingRecord {
        let keyed = try keys.notification(candidate.body)
        let event = CloudEvent(
            type: keyed.type, id: candidate.notification.uuid, source: Self.source,
            time: UTC.text(milliseconds: WallClock.milliseconds))
        return OutgoingRecord(
            topic: topic, key: keyed.key, headers: event.headers(), value: candidate.body)
    }
}

/// The notifications of a scope in a log, about 100 bytes each.
struct LoggedNotifications {
    private struct Entry {
        var signedAtMilliseconds: Int64
        var partition: Int32
        /// Whether a record with valid signatures exists.
        var isTrusted: Bool
        var offset: Int64
        /// In `texts`.
        var uuid: Range<Int>
    }

    private var entries: [RecordID: Entry] = [:]
    private var texts: [UInt8] = []
    private var distrusts: [RecordID: IdentifiedNotification.Distrust] = [:]
    /// Digests of the ids of erased records.
    private var erased: Set<String> = []

    mutating func addErased(_ id: String) { erased.insert(id) }

    func isErased(_ id: RecordID) -> Bool { !erased.isEmpty && erased.contains(id.hexDigits) }

    mutating func add(_ found: IdentifiedNotification, partition: Int32, offset: Int64) {
        guard entries[found.id].map({ !$0.isTrusted && found.distrust == nil }) ?? true else {
            return
        }
        let start = texts.count
        texts += found.uuid.utf8
        entries[found.id] = Entry(
            signedAtMilliseconds: found.signedAtMilliseconds, partition: partition,
            isTrusted: found.distrust == nil, offset: offset, uuid: start..<texts.count)
        distrusts[found.id] = found.distrust
    }

    /// Whether a record of the log counts, or is rejected for its fields. A copy with invalid signatures does not replace
    /// the notification.
    func isPresent(_ id: RecordID) -> Bool { entries[id]?.isTrusted ?? false }

    /// Those with other ids that were signed before an instant, in order of signing.
    func others(
        than listed: Set<RecordID>, signedBefore end: Int64
    ) -> [ReconciledNotifications.Surplus] {
        entries.filter { !listed.contains($0.key) && $0.value.signedAtMilliseconds < end }
            .sorted {
                ($0.value.signedAtMilliseconds, $0.key) < ($1.value.signedAtMilliseconds, $1.key)
            }
            .map { id, entry in
                .init(
                    uuid: String(decoding: texts[entry.uuid], as: UTF8.self),
                    signedAtMilliseconds: entry.signedAtMilliseconds, partition: entry.partition,
                    offset: entry.offset, distrust: distrusts[id]?.description)
            }
    }
}
