import ConfigurationValues
import EmbeddedLog
import EventLog
import Foundation
import History
import Reports
import Streams
import TestKit
import Testing

@Suite("Reconciling notifications with the App Store")
struct NotificationReconciliationTests {
    private static let stream = "store-notifications"
    private static let day: Int64 = 86_400_000

    /// An installation, and the notifications that Apple has sent to it.
    private final class Installation {
        let workspace: Workspace
        let samples: SampleNotifications
        /// Midnight, four days ago.
        let start: Int64
        let now: Int64
        /// Those that were asked stay until the end of the test.
        private var servers: [AppStoreStandIn] = []

        init() throws {
            workspace = try Workspace()
            samples = try SampleNotifications()
            try samples.configure(workspace, batch: 1000)
            now = WallClock.milliseconds
            start = (now / day - 4) * day
        }

        /// Notifications with transactions of their own, evenly spread over three days.
        ///
        /// - Parameter production: else of the sandbox.
        func notifications(
            _ count: Int, production: Bool = true, bundle: String = SampleNotifications.bundle
        ) throws -> [AppStoreStandIn.Notification] {
            try (0..<count).map { number in
                let signedAt = start + Int64(number) * 3 * day / Int64(count) + 777
                return try notification(
                    "\(bundle) \(number)", number, at: signedAt, production: production,
                    bundle: bundle)
            }
        }

        func notification(
            _ uuid: String, _ number: Int, at signedAt: Int64, production: Bool = true,
            bundle: String = SampleNotifications.bundle, forged: Bool = false
        ) throws -> AppStoreStandIn.Notification {
            let body = try samples.v2(
                ["DID_RENEW", "REFUND", "SUBSCRIBED"][number % 3], uuid: uuid, transaction: number,
                price: Int64(number), date: number % 9,
                cohort: production ? Int(start / day) - 9 : nil, bundle: bundle,
                signedAt: signedAt, forged: forged)
            let payload = try #require(try jsonObject(body)["signedPayload"] as? String)
            return .init(
                uuid: uuid, signedAtMilliseconds: signedAt, payload: payload,
                hasFailed: number % 10 == 0)
        }

        /// Publishes notifications as the collector would: under their keys.
        func publish(_ notifications: [AppStoreStandIn.Notification]) throws {
            let reader = try #require(RecordKeyReader())
            try workspace.publish(
                stream,
                notifications.map { notification in
                    let body = Array("{\"signedPayload\":\"\(notification.payload)\"}".utf8)
                    let keyed = try reader.notification(body)
                    return OutgoingRecord(
                        topic: stream, key: keyed.key, headers: [.init("ce_type", keyed.type)],
                        value: body)
                })
        }

        func reconciliation(
            with apple: AppStoreStandIn, onlyFailures: Bool = false, isDryRun: Bool = false,
            environment: AppStoreEnvironment = .production,
            bundle: String = SampleNotifications.bundle, from: Int64? = nil, to: Int64? = nil,
            pauses: [Int64] = [1, 1, 1, 1], data: [String] = ["data"]
        ) throws -> NotificationReconciliation {
            servers.append(apple)
            let name = "SubscriptionKey_\(AppStoreStandIn.keyID).p8"
            try workspace.write(name, apple.key)
            var patience = AppStoreServerAPI.Patience()
            patience.pausesMilliseconds = pauses
            let api = try AppStoreServerAPI(
                address: apple.url,
                key: AppStoreKey(
                    path: "\(workspace.pipelines)/\(name)", id: nil,
                    issuerID: AppStoreStandIn.issuerID),
                bundleID: bundle, patience: patience)
            return try NotificationReconciliation(
                .init(
                    scope: .init(
                        bundleID: bundle, environment: environment,
                        period: (from ?? start)..<(to ?? start + 3 * day)),
                    onlyFailures: onlyFailures, isDryRun: isDryRun),
                api: api,
                rules: StoreNotificationsFold.rules(in: PipelineDirectory(workspace.pipelines)),
                log: workspace.openLog(), topic: stream,
                directories: data.map { "\(workspace.path)/\($0)" }, nowMilliseconds: now,
                threadCount: 2)
        }

        /// The ids of all notifications of version 2 in the log, in bytewise order.
        func loggedIDs() throws -> [String] {
            try workspace.records(stream).compactMap { record in
                let body = try jsonObject(record.text ?? "")
                let parts = (body["signedPayload"] as? String ?? "").split(separator: ".")
                let text = parts[1].replacing("-", with: "+").replacing("_", with: "/")
                let padding = String(repeating: "=", count: (4 - text.count % 4) % 4)
                let payload = try #require(Data(base64Encoded: text + padding))
                return try jsonObject(String(decoding: payload, as: UTF8.self))["notificationUUID"]
                    as? String
            }.sorted()
        }

        /// All rows of the stream's dumps but their hours.
        func rows() throws -> [[String]] {
            try workspace.foldNotifications()
            return try ["store-notifications", "cohorts"].map { name in
                let dump = try #require(DumpDescription.all.first { $0.name == name })
                let columns = dump.columns.map(\.name).filter { $0 != "hour" && $0 != "day" }
                let request = ReportRequest(
                    name: name, grouping: .columns(columns.filter { !$0.hasPrefix("catalog") }))
                return try workspace.stores().dump(request).rows.map { "\($0)" }
            }
        }
    }

    private static func statuses(_ result: ReconciledNotifications) -> [String] {
        result.days.map(\.status.rawValue)
    }

    @Test(
        "of 10,000 notifications exactly the 37 missing ones are appended, and the fold is that of all"
    )
    func missing() throws {
        let installation = try Installation()
        let all = try installation.notifications(10_000)
        var generator = SeededGenerator(seed: 54)
        let missing = Set(all.indices.shuffled(using: &generator).prefix(37))
        try installation.publish(all.indices.filter { !missing.contains($0) }.map { all[$0] })
        let apple = try AppStoreStandIn(
            all,
            .init {
                $0.limitedEvery = 90
                $0.failsEvery = 70
                $0.expires = 200
            })
        var run = try installation.reconciliation(with: apple)
        let result = try run.run()
        #expect(result.appended.count == 37)
        #expect(
            result.appended.map(\.uuid).sorted() == missing.map { all[$0].uuid }.sorted())
        #expect(
            result.refused.isEmpty && result.surplus.isEmpty
                && result.notices.allSatisfy { $0.contains("has no store") })
        #expect(result.days.map(\.listed).reduce(0, +) == 10_000)
        #expect(result.days.map(\.present).reduce(0, +) == 9963)
        #expect(Self.statuses(result) == ["complete", "complete", "complete"])
        #expect(!result.isLacking)
        #expect(try installation.loggedIDs() == all.map(\.uuid).sorted())

        var again = try installation.reconciliation(with: apple)
        #expect(try again.run().appended.count == 0)
        let straight = try Installation()
        // The same roots: the chain is that of the other installation.
        try installation.samples.configure(straight.workspace, batch: 1000)
        try straight.publish(all)
        let rows = try installation.rows()
        #expect(try rows == straight.rows())
        #expect(rows.allSatisfy { !$0.isEmpty })
        #expect(try installation.workspace.outcome(.accepted, Self.stream) == 10_000)
        #expect(try installation.workspace.outcome(.duplicates, Self.stream) == 0)
    }

    @Test(
        "an appended record is the one that the collector would have appended for Apple's request")
    func record() throws {
        let installation = try Installation()
        try installation.workspace.publish(Self.stream, [])
        let all = try installation.notifications(1)
        var run = try installation.reconciliation(with: AppStoreStandIn(all))
        _ = try run.run()
        let record = try #require(try installation.workspace.records(Self.stream).first)
        #expect(record.text == "{\"signedPayload\":\"\(all[0].payload)\"}")
        #expect(record.key == "0")
        #expect(
            record.headerList.map(\.name) == [
                "ce_specversion", "ce_type", "ce_id", "ce_source", "ce_time", "content-type",
            ])
        #expect(record.headers["ce_type"] == "appstore.notification.v2")
        #expect(record.headers["ce_id"] == all[0].uuid)
        #expect(record.headers["content-type"] == "application/json")
    }

    @Test("a dry run reports what is missing, and appends nothing")
    func dryRun() throws {
        let installation = try Installation()
        let all = try installation.notifications(90)
        try installation.publish(Array(all.dropFirst(3)))
        var run = try installation.reconciliation(with: AppStoreStandIn(all), isDryRun: true)
        let result = try run.run()
        #expect(result.missing.map(\.uuid) == all.prefix(3).map(\.uuid))
        #expect(result.appended.count == 0 && result.isLacking)
        #expect(Self.statuses(result) == ["incomplete", "complete", "complete"])
        #expect(try installation.workspace.records(Self.stream).count == 87)
    }

    @Test("an interrupted run keeps what it has appended, and the next one appends the rest once")
    func interruption() throws {
        let installation = try Installation()
        let all = try installation.notifications(900)
        let present = all.indices.filter { $0 % 3 > 0 }.map { all[$0] }
        try installation.publish(present)
        let dying = try AppStoreStandIn(all, .init { $0.closedFrom = 30 })
        var first = try installation.reconciliation(with: dying)
        #expect(throws: (any Error).self) { try first.run() }
        #expect(first.appended > 0 && first.appended < 300)
        #expect(try installation.loggedIDs().count == present.count + first.appended)
        var second = try installation.reconciliation(with: AppStoreStandIn(all))
        #expect(try second.run().appended.count == 300 - first.appended)
        #expect(try installation.loggedIDs() == all.map(\.uuid).sorted())
    }

    @Test("a run beside Apple's own repetition is harmless: each notification counts once")
    func race() throws {
        let installation = try Installation()
        let all = try installation.notifications(60)
        try installation.workspace.publish(Self.stream, [])
        let apple = try AppStoreStandIn(all)
        // Both have read the log before the other appends.
        var first = try installation.reconciliation(with: apple)
        var second = try installation.reconciliation(with: apple)
        #expect(try first.run().appended.count == 60)
        #expect(try second.run().appended.count == 60)
        try installation.publish(all)
        try installation.workspace.foldNotifications()
        #expect(try installation.workspace.outcome(.accepted, Self.stream) == 60)
        #expect(try installation.workspace.outcome(.duplicates, Self.stream) == 120)
    }

    @Test("a notification that retention has removed is present if a store remembers it")
    func retention() throws {
        let installation = try Installation()
        let all = try installation.notifications(120)
        try installation.publish(Array(all.dropLast(4)))
        try installation.workspace.foldNotifications()
        let log = try installation.workspace.openLog()
        for partition in 0..<4 as Range<Int32> {
            try log.trim(topic: Self.stream, partition: partition, before: 1000)
        }
        var run = try installation.reconciliation(with: AppStoreStandIn(all))
        let result = try run.run()
        #expect(result.appended.map(\.uuid) == all.suffix(4).map(\.uuid))
        #expect(result.appended.count == 4)
        #expect(result.days.map(\.present).reduce(0, +) == 116)
    }

    @Test("an erased notification is not appended again, although Apple signs it anew")
    func erased() throws {
        let installation = try Installation()
        let uuid = "5b1c7e3a-8a41-4f0e-9c55-0d0a4e6b7f21"
        func notification() throws -> AppStoreStandIn.Notification {
            try installation.notification(uuid, 1, at: installation.start + 5)
        }
        let other = try installation.notification("other", 2, at: installation.start + 6)
        try installation.publish([notification()])
        let erasure = Erasure(
            of: try ErasureSubject(.account, uuid), in: try installation.workspace.openLog(),
            directories: [installation.workspace.path + "/data"],
            PipelineDirectory(installation.workspace.pipelines))
        #expect(try erasure.run().records.map(\.records.count) == [1])
        var run = try installation.reconciliation(
            with: AppStoreStandIn([try notification(), other]))
        let result = try run.run()
        #expect(result.appended.map(\.uuid) == ["other"])
        #expect(result.days.map(\.present).reduce(0, +) == 1)
    }

    @Test("the ids of a store of another log do not count, and the result says so")
    func otherLog() throws {
        let (installation, other) = (try Installation(), try Installation())
        try installation.samples.configure(other.workspace)
        let all = try installation.notifications(30)
        try other.publish(all)
        try other.workspace.foldNotifications()
        try FileManager.default.copyItem(
            atPath: other.workspace.path + "/data", toPath: installation.workspace.path + "/data")
        try installation.workspace.publish(Self.stream, [])
        var run = try installation.reconciliation(with: AppStoreStandIn(all))
        let result = try run.run()
        #expect(result.appended.count == 30)
        #expect(result.notices.count == 1)
        #expect(result.notices[0].contains("was folded from another log"))
    }

    @Test(
        "notifications of another app, forged and unreadable ones are refused with their reasons")
    func refused() throws {
        let installation = try Installation()
        try installation.workspace.publish(Self.stream, [])
        let good = try installation.notification("good", 1, at: installation.start + 5)
        var damaged = try installation.notification("damaged", 2, at: installation.start + 6)
        // The last digits of the signature.
        damaged.payload = String(damaged.payload.dropLast(6)) + "AAAAAA"
        let listed = [
            good, damaged,
            try installation.notification("forged", 3, at: installation.start + 7, forged: true),
            try installation.notification(
                "foreign", 4, at: installation.start + 8, bundle: "com.example.other"),
            try installation.notification(
                "sandbox", 5, at: installation.start + 9, production: false),
            .init(uuid: "none", signedAtMilliseconds: installation.start + 10, payload: "a.b"),
        ]
        var run = try installation.reconciliation(with: AppStoreStandIn(listed))
        let result = try run.run()
        #expect(result.appended.map(\.uuid) == ["good"])
        #expect(result.appended.count == 1 && result.isLacking)
        let reasons = Dictionary(
            uniqueKeysWithValues: result.refused.map { ($0.uuid ?? "", $0.reason) })
        #expect(reasons.count == 5)
        #expect(reasons["damaged"]?.contains("the signature does not match") == true)
        #expect(reasons["forged"]?.contains("no pinned root") == true)
        #expect(reasons["foreign"] == "its bundleId is 'com.example.other'")
        #expect(reasons["sandbox"] == "its environment is Sandbox")
        #expect(reasons[""]?.contains("not a JWS") == true)
        #expect(try installation.loggedIDs() == ["good"])
        #expect(Self.statuses(result) == ["incomplete", "complete", "complete"])
    }

    @Test("a forged copy in the log does not replace the notification, and forged ones are surplus")
    func forged() throws {
        let installation = try Installation()
        let all = try installation.notifications(9)
        try installation.publish(
            Array(all.dropFirst()) + [
                installation.notification(
                    all[0].uuid, 0, at: all[0].signedAtMilliseconds, forged: true),
                installation.notification("invented", 7, at: installation.start + 9, forged: true),
                installation.notification("unlisted", 8, at: installation.start + 10),
                // Of others.
                installation.notification("s", 9, at: installation.start + 9, production: false),
                installation.notification("early", 10, at: installation.start - 1),
            ])
        var run = try installation.reconciliation(with: AppStoreStandIn(all))
        let result = try run.run()
        #expect(result.appended.map(\.uuid) == [all[0].uuid])
        #expect(result.appended.count == 1)
        #expect(result.surplus.map(\.uuid) == ["invented", "unlisted"])
        #expect(result.surplus[0].distrust?.contains("no pinned root") == true)
        #expect(result.surplus[1].distrust == nil)
        #expect(result.days.map(\.surplus) == [2, 0, 0])
        // Surplus ones do not make a day incomplete.
        #expect(Self.statuses(result) == ["complete", "complete", "complete"])
        try installation.workspace.foldNotifications()
        #expect(try installation.workspace.outcome(.untrusted, Self.stream) == 2)
    }

    @Test("the sandbox is compared with its own history only")
    func sandbox() throws {
        let installation = try Installation()
        let production = try installation.notifications(30)
        let sandbox = try installation.notifications(30, production: false).map {
            try installation.notification(
                "s-\($0.uuid)", 1000, at: $0.signedAtMilliseconds, production: false)
        }
        try installation.publish(production)
        let apple = try AppStoreStandIn(sandbox, days: 30)
        var run = try installation.reconciliation(with: apple, environment: .sandbox)
        let result = try run.run()
        #expect(result.appended.count == 30)
        #expect(result.surplus.isEmpty)
        #expect(apple.refusals.isEmpty)
    }

    @Test("only failures: those are appended, and no day is called complete")
    func onlyFailures() throws {
        let installation = try Installation()
        let all = try installation.notifications(100)
        try installation.publish(all.filter { !$0.hasFailed })
        var run = try installation.reconciliation(with: AppStoreStandIn(all), onlyFailures: true)
        let result = try run.run()
        #expect(result.appended.count == 10)
        #expect(result.days.map(\.listed).reduce(0, +) == 10)
        #expect(result.surplus.isEmpty)
        #expect(Self.statuses(result) == ["unjudged", "unjudged", "unjudged"])
        #expect(try installation.loggedIDs() == all.map(\.uuid).sorted())
    }

    @Test("days at the ends of the period that are not covered are partial")
    func partialDays() throws {
        let installation = try Installation()
        let all = try installation.notifications(60)
        try installation.publish(all)
        let noon = Self.day / 2
        var run = try installation.reconciliation(
            with: AppStoreStandIn(all), from: installation.start + noon,
            to: installation.start + 2 * Self.day + noon)
        let result = try run.run()
        #expect(Self.statuses(result) == ["partial", "complete", "partial"])
        #expect(result.days.map(\.listed) == [10, 20, 10])
    }

    @Test("a key that Apple does not accept ends the run with what to check, and without the key")
    func wrongKey() throws {
        let installation = try Installation()
        try installation.workspace.publish(Self.stream, [])
        let (apple, other) = (try AppStoreStandIn([]), try AppStoreStandIn([]))
        var run = try installation.reconciliation(with: other)
        #expect(throws: Never.self) { try run.run() }
        let api = try AppStoreServerAPI(
            address: apple.url,
            key: AppStoreKey(
                path: "\(installation.workspace.pipelines)/SubscriptionKey_2X9R4HXF34.p8", id: nil,
                issuerID: AppStoreStandIn.issuerID),
            bundleID: SampleNotifications.bundle)
        var refused = try NotificationReconciliation(
            .init(
                scope: .init(
                    bundleID: SampleNotifications.bundle, environment: .production,
                    period: installation.start..<installation.now),
                onlyFailures: false, isDryRun: false),
            api: api,
            rules: StoreNotificationsFold.rules(
                in: PipelineDirectory(installation.workspace.pipelines)),
            log: installation.workspace.openLog(), topic: Self.stream, directories: [],
            nowMilliseconds: installation.now)
        #expect {
            try refused.run()
        } throws: { error in
            let words = "\(error)"
            return words.contains("answered 401: it does not accept the token")
                && words.contains("the key 2X9R4HXF34") && !words.contains("PRIVATE")
                && !words.contains("eyJ")
        }
        #expect(apple.requestCount == 1)
    }

    @Test("a pause that Apple requests is kept, and a server that keeps failing ends the run")
    func pauses() throws {
        let installation = try Installation()
        try installation.workspace.publish(Self.stream, [])
        let all = try installation.notifications(80)
        let busy = try AppStoreStandIn(
            all,
            .init {
                $0.limitedEvery = 2
                $0.limitMilliseconds = 300
            })
        let begun = ContinuousClock.now
        var run = try installation.reconciliation(with: busy, pauses: [1])
        #expect(try run.run().appended.count == 80)
        #expect(begun.duration(to: .now) >= .milliseconds(900))
        let failing = try AppStoreStandIn(all, .init { $0.failsEvery = 1 })
        var second = try installation.reconciliation(with: failing, pauses: [1, 1])
        #expect {
            try second.run()
        } throws: { error in
            "\(error)".contains(
                "answered 500: 5000001 An unknown error occurred. Please try again: run")
        }
        #expect(failing.requestCount == 3)
    }
}
