import ArgumentParser
import ConfigurationFiles
import ConfigurationValues
import EventLog
import Foundation
import History
import JSON
import Program
import Reports
import Streams
import Wording

struct ReconcileCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reconcile",
        abstract: "Compares the records of Weir with those of others.",
        discussion: """
            The two commands have little in common. postbacks compares the postbacks of networks with the copies \
            of developers: it only reads stores, and is the default. store requests the App Store's history of \
            notifications, and appends those that the log lacks.

              weir reconcile postbacks --since 2026-11-01
              weir reconcile store --since 7d --dry-run
            """,
        subcommands: [ReconcilePostbacksCommand.self, ReconcileStoreCommand.self],
        defaultSubcommand: ReconcilePostbacksCommand.self)
}

struct ReconcilePostbacksCommand: GroupingCommand {
    static let configuration = CommandConfiguration(
        commandName: "postbacks",
        abstract: "Compares the postbacks of networks with the copies of developers.",
        discussion: """
            Devices send a winning postback to the ad network. If the app requests it, they also send a copy to \
            the developer. The command matches the copies by id. For each day and campaign, it counts the \
            matches, the copies that are missing on either side, and the copies with different values.

              weir reconcile postbacks --since 2026-11-01
              weir reconcile postbacks --by ad_network_id --format csv
              weir reconcile postbacks --where campaign=5239 --records

            Each line counts: matched; differing, where the copies have other values; missing_developer_copy and \
            missing_network_copy, where one side has none; losing, which have no copy; and may_still_come, which \
            are younger than the wait for the other copy. Most apps do not request copies, and then nearly all are \
            missing_developer_copy.

            --records lists the postbacks that do not match, with the partition and offsets of their copies for \
            weir read and weir explain. Only trusted copies count; untrusted ones have their own columns. The \
            columns: hour, day, ad_network_id, campaign, app_id, source_app_id, sequence_index, \
            has_source_identifier, catalog_campaign. docs/guides/analyse-campaigns.md has more.
            """)

    @OptionGroup var grouping: GroupingOptions
    @OptionGroup var times: TimeOptions
    @OptionGroup var zone: TimeZoneOptions
    @OptionGroup var conditions: ConditionOptions
    @Flag(help: "Print a line for each postback that does not match.")
    var records = false
    @Flag(help: "With --records: print matching postbacks too.")
    var all = false
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var format: DumpFormatOptions
    @OptionGroup var csv: RawOptions

    func run() throws {
        let format = try format.chosen()
        guard records || !all else {
            throw CommandError.usage(
                "--all needs --records: the counts always include all postbacks")
        }
        let configuration = pipelines.configuration(of: data)
        var question = ReconciliationQuery(
            request: try request("reconcile", configuration))
        question.showsRecords = records
        question.showsMatched = all
        question.trustsDevelopment = try configuration.trustsDevelopment()
        question.catalog = try configuration.catalog()
        let found = try data.stores(clock.present).reconciliation(question)
        try BufferedOutput.print(found.table, as: format, isRaw: csv.isSet())
        found.notices.forEach(Console.write)
    }
}

struct ReconcileStoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Appends notifications of the App Store that have not reached the log.",
        discussion: """
            Requests the history of notifications from the App Store Server API and compares it with the topic \
            of notifications by notificationUUID. Missing notifications are appended as they were signed. Only \
            those count whose signatures verify under store-notifications.yaml, and that belong to the app and the \
            environment. Others are reported as refused. Surplus notifications are in the log, but Apple does not \
            list them.

              export WEIR_APP_STORE_KEY_FILE=secrets/SubscriptionKey_2X9R4HXF34.p8
              export WEIR_APP_STORE_ISSUER_ID=57246542-96fe-1a63-e053-0824d011072a
              weir reconcile store --since 7d --dry-run
              weir reconcile store --since 7d

            The table has a line for each day in UTC by the time of signing. A day is complete if the log has \
            every notification that Apple lists for it. Apple keeps 180 days, and 30 days of the sandbox. You can \
            stop the command at any time and run it again: a repeated notification counts once.

            The command ends with 1 if notifications are missing or refused after the run. After --dry-run these \
            are all missing ones. docs/guides/reconcile-store-notifications.md has more.
            """)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The start of the period: \(LogTime.forms).", valueName: "time"))
    var since: String
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The end of the period, not included (default: one hour ago, because newer notifications may be on their way).",
            valueName: "time"))
    var until: String?
    @OptionGroup var store: AppStoreOptions
    @Flag(
        help:
            "Only notifications that have not reached your server, which is faster; days stay unjudged (WEIR_ONLY_FAILURES)."
    )
    var onlyFailures = false
    @Flag(help: "Print what is missing, and append nothing (WEIR_DRY_RUN).")
    var dryRun = false
    @OptionGroup var log: LogOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var access: FileAccessOptions
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        let pipelines = pipelines.directory(of: data)
        let rules = try StoreNotificationsFold.rules(in: pipelines)
        let app = try store.app(of: rules)
        let now = WallClock.milliseconds
        let question = try NotificationReconciliation.Question(
            scope: .init(
                bundleID: app.bundleID, environment: app.environment,
                period: period(of: app.environment, nowMilliseconds: now)),
            onlyFailures: Environment().isSet("WEIR_ONLY_FAILURES", option: onlyFailures),
            isDryRun: Environment().isSet("WEIR_DRY_RUN", option: dryRun))
        let api = try AppStoreServerAPI(
            address: app.address, key: store.key(), bundleID: app.bundleID,
            pausing: { reason, milliseconds in
                Console.write(
                    "\(reason): retrying in \(max(1, milliseconds / 1000)) s")
            })
        let topic = try StoreNotificationsFold.file(in: pipelines).settings.topic
        func reconcile() throws -> ReconciledNotifications {
            var run = try NotificationReconciliation(
                question, api: api, rules: rules, log: log.open(.existing, data, self.pipelines),
                topic: topic, directories: data.directories, nowMilliseconds: now,
                progress: Self.show)
            do {
                return try run.run()
            } catch {
                guard run.appended > 0, let fault = CommandError(error)?.explanation else {
                    throw error
                }
                throw CommandError.failure(
                    "\(fault) (\(counted(run.appended, "missing notification")) \(run.appended == 1 ? "is" : "are") in \(topic); the next run appends the others)"
                )
            }
        }
        let result = try Console.removingProgress {
            let directory = data.directories.first ?? "."
            guard !question.isDryRun, FileManager.default.fileExists(atPath: directory) else {
                return try reconcile()
            }
            var result: ReconciledNotifications?
            let period = question.scope.period
            try OperatorLog(directories: data.directories).record(
                .reconcile,
                of:
                    "notifications of \(app.bundleID), \(app.environment.rawValue), from \(UTC.text(milliseconds: period.lowerBound)) to \(UTC.text(milliseconds: period.upperBound))",
                by: .ofCommand
            ) {
                let found = try reconcile()
                result = found
                return StoreReconciliationReport.summary(of: found, topic: topic)
            }
            return try result ?? reconcile()
        }
        try BufferedOutput.print(StoreReconciliationReport(result: result), as: format)
        result.notices.forEach(Console.write)
        StandardError.write(line: StoreReconciliationReport.summary(of: result, topic: topic))
        guard !result.isLacking else { throw CommandError.differs }
    }

    private static func show(_ progress: NotificationReconciliation.Progress) {
        switch progress {
        case .read(let records): Console.show(progress: "read \(counted(records, "record"))")
        case .compared(let listed, let missing, let end):
            Console.show(
                progress:
                    "compared up to \(UTC.text(milliseconds: end)): \(listed) listed, \(missing) missing"
            )
        }
    }

    private func period(
        of environment: AppStoreEnvironment, nowMilliseconds now: Int64
    ) throws(CommandError) -> Range<Int64> {
        let start = try LogTime.milliseconds(since, option: "--since")
        let end =
            try until.map { text throws(CommandError) in
                try LogTime.milliseconds(text, option: "--until")
            } ?? now - 3_600_000
        guard end <= now else {
            throw .usage(
                "--until is in the future: Apple lists only sent notifications; leave it out or write an earlier time"
            )
        }
        guard start < end else {
            throw .usage(
                "--since \(UTC.text(milliseconds: start)) is not before the end of the period, \(UTC.text(milliseconds: end)): correct one of them"
            )
        }
        let days = AppStoreServerAPI.days(of: environment)
        let oldest = now - days * LogTime.dayMilliseconds
        guard start >= oldest else {
            throw .usage(
                "--since \(UTC.text(milliseconds: start)) is too early: Apple keeps notifications of \(environment.rawValue) for \(days) days; write \(UTC.text(milliseconds: oldest + LogTime.dayMilliseconds).prefix(10)) or later"
            )
        }
        // The oldest notifications would be gone while the log is read.
        return max(start, oldest + Self.oldestHours * 3_600_000)..<end
    }

    private static let oldestHours: Int64 = 1
}

/// The app in the App Store, and the key of its API.
struct AppStoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The .p8 file of an In-App Purchase key from App Store Connect (WEIR_APP_STORE_KEY_FILE).",
            valueName: "file"), completion: .file(extensions: ["p8"]))
    var keyFile: String?
    @Option(
        help: ArgumentHelp(
            "The key id (WEIR_APP_STORE_KEY_ID; default: the id in the name of the key file).",
            valueName: "id"))
    var keyID: String?
    @Option(
        help: ArgumentHelp(
            "The issuer id of the team, from App Store Connect (WEIR_APP_STORE_ISSUER_ID).",
            valueName: "id"))
    var issuerID: String?
    @Option(
        help: ArgumentHelp(
            "The app (WEIR_APP_STORE_BUNDLE_ID; default: the app of store-notifications.yaml, if there is one).",
            valueName: "bundle"))
    var bundleID: String?
    @Option(
        help:
            "Production or Sandbox (WEIR_APP_STORE_ENVIRONMENT; default: Production).")
    var environment: String?
    @Option(
        help: ArgumentHelp(
            "The address of the API: https, or http to this machine (WEIR_APP_STORE_URL; default: Apple's for the environment).",
            valueName: "url"))
    var baseURL: String?

    /// The key. Throws if an option is missing.
    func key() throws -> AppStoreKey {
        let environment = Environment()
        guard let path = keyFile ?? environment["WEIR_APP_STORE_KEY_FILE"] else {
            throw CommandError.usage(
                "no key: give --key-file, an In-App Purchase key from App Store Connect (docs/guides/reconcile-store-notifications.md)"
            )
        }
        guard let issuerID = issuerID ?? environment["WEIR_APP_STORE_ISSUER_ID"] else {
            throw CommandError.usage(
                "no issuer: give --issuer-id, from Users and Access in App Store Connect")
        }
        return try AppStoreKey(
            path: path, id: keyID ?? environment["WEIR_APP_STORE_KEY_ID"], issuerID: issuerID)
    }

    /// Throws unless notifications of the app and the environment count under the rules.
    func app(
        of rules: StoreNotificationsRules
    ) throws(CommandError) -> (bundleID: String, environment: AppStoreEnvironment, address: String)
    {
        let variables = Environment()
        let known = rules.apps.map(\.bundleID)
        guard let bundleID = bundleID ?? variables["WEIR_APP_STORE_BUNDLE_ID"] ?? known.first,
            known.contains(bundleID)
        else {
            throw .usage(
                known.isEmpty
                    ? "store-notifications.yaml lists no app, so no notification would count: add yours under apps"
                    : "store-notifications.yaml has no app '\(self.bundleID ?? "")', so its notifications would not count: add it, or correct --bundle-id"
            )
        }
        guard
            self.bundleID != nil || variables["WEIR_APP_STORE_BUNDLE_ID"] != nil || known.count == 1
        else {
            throw .usage(
                "store-notifications.yaml has several apps: give --bundle-id \(known.joined(separator: ", or "))"
            )
        }
        let name =
            self.environment ?? variables["WEIR_APP_STORE_ENVIRONMENT"]
            ?? AppStoreEnvironment.production.rawValue
        guard let environment = AppStoreEnvironment(rawValue: name),
            let address = AppStoreServerAPI.address(of: environment)
        else {
            throw .usage("--environment '\(name)' is not possible: write Production or Sandbox")
        }
        guard rules.environments.contains(environment) else {
            throw .usage(
                "store-notifications.yaml does not allow \(name), so its notifications would not count: add it to environments"
            )
        }
        return (bundleID, environment, baseURL ?? variables["WEIR_APP_STORE_URL"] ?? address)
    }
}

struct StoreReconciliationReport: Report {
    /// The most single notifications of a kind in the table. JSON contains all.
    private static let shownCount = 20

    let result: ReconciledNotifications

    /// The result in one line.
    static func summary(of result: ReconciledNotifications, topic: String) -> String {
        let isDryRun = result.question.isDryRun
        let found = isDryRun ? result.missing : result.appended
        let count = counted(found.count, "notification")
        var parts = [
            found.isEmpty
                ? "no notification is missing in \(topic)"
                : isDryRun
                    ? "dry run: \(count) would be appended to \(topic), none were"
                    : "appended \(count) to \(topic)"
        ]
        if !result.refused.isEmpty {
            parts.append("refused \(counted(result.refused.count, "notification"))")
        }
        return parts.joined(separator: ", ")
    }

    var table: String {
        let days = TextTable(
            header: [
                "day", "listed", "present", "appended", "missing", "refused", "surplus", "status",
            ],
            isNumber: [false, true, true, true, true, true, true, false],
            rows: result.days.map { day in
                [
                    day.name, "\(day.listed)", "\(day.present)", "\(day.appended)",
                    "\(day.missing)", "\(day.refused)", surplus(of: day), day.status.rawValue,
                ]
            })
        return days.text
            + list("appended", result.appended)
            + list("missing", result.missing)
            + list("refused", result.refused, columns: ["signed", "notification_uuid", "reason"]) {
                [
                    $0.signedAtMilliseconds.map { UTC.text(milliseconds: $0) } ?? "",
                    Self.shortened($0.uuid ?? ""),
                    $0.reason,
                ]
            }
            + list(
                "surplus", result.surplus,
                columns: ["signed", "notification_uuid", "partition", "offset", "signature"]
            ) {
                [
                    UTC.text(milliseconds: $0.signedAtMilliseconds), Self.shortened($0.uuid),
                    "\($0.partition)",
                    "\($0.offset)", $0.distrust ?? "valid",
                ]
            }
    }

    private func list(_ title: String, _ missing: [ReconciledNotifications.Missing]) -> String {
        list(title, missing, columns: ["signed", "notification_uuid"]) {
            [UTC.text(milliseconds: $0.signedAtMilliseconds), Self.shortened($0.uuid)]
        }
    }

    /// An id of Apple has 36 characters. A forged one may have any number.
    private static func shortened(_ uuid: String) -> String {
        uuid.count > 40 ? "\(uuid.prefix(39))…" : uuid
    }

    /// Empty if surplus notifications are not searched for.
    private func surplus(of day: ReconciledNotifications.Day) -> String {
        result.question.onlyFailures ? "" : "\(day.surplus)"
    }

    private func list<Element>(
        _ title: String, _ elements: [Element], columns: [String], _ cells: (Element) -> [String]
    ) -> String {
        guard !elements.isEmpty else { return "" }
        let numbers: Set = ["partition", "offset"]
        let table = TextTable(
            header: columns, isNumber: columns.map(numbers.contains),
            rows: elements.prefix(Self.shownCount).map(cells))
        let rest = elements.count - Self.shownCount
        return "\n\(title):\n\(table.text)"
            + (rest > 0 ? "and \(rest) more: --format json lists all\n" : "")
    }

    func write(to json: inout JSONText) {
        let question = result.question
        json.object { json in
            json.member("bundle_id", question.scope.bundleID)
            json.member("environment", question.scope.environment.rawValue)
            json.member("since", UTC.text(milliseconds: question.scope.period.lowerBound))
            json.member("until", UTC.text(milliseconds: question.scope.period.upperBound))
            json.member("only_failures", question.onlyFailures)
            json.member("dry_run", question.isDryRun)
            json.objects("days", result.days) { day, json in
                json.member("day", day.name)
                json.member("listed", day.listed)
                json.member("present", day.present)
                json.member("appended", day.appended)
                json.member("missing", day.missing)
                json.member("refused", day.refused)
                json.member("surplus", question.onlyFailures ? nil : day.surplus)
                json.member("status", day.status.rawValue)
            }
            for (name, list) in [("appended", result.appended), ("missing", result.missing)] {
                json.objects(name, list) { found, json in
                    json.member("notification_uuid", found.uuid)
                    json.member("signed", UTC.text(milliseconds: found.signedAtMilliseconds))
                }
            }
            json.objects("refused", result.refused) { found, json in
                json.member("notification_uuid", found.uuid)
                json.member(
                    "signed", found.signedAtMilliseconds.map { UTC.text(milliseconds: $0) })
                json.member("reason", found.reason)
            }
            json.objects("surplus", result.surplus) { found, json in
                json.member("notification_uuid", found.uuid)
                json.member("signed", UTC.text(milliseconds: found.signedAtMilliseconds))
                json.member("partition", found.partition)
                json.member("offset", found.offset)
                json.member("distrust", found.distrust)
            }
        }
    }
}
