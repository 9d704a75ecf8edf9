import EmbeddedLog
import EventLog
import Foundation
import Streams
import TestKit
import Testing

@Suite("weir reconcile store")
struct ReconcileStoreTests {
    private static let stream = "store-notifications"
    private static let day: Int64 = 86_400_000

    /// An installation with a log without the notifications that Apple lists.
    private final class Installation {
        let workspace: Workspace
        let all: [AppStoreStandIn.Notification]
        let start: Int64

        init(_ count: Int = 200) throws {
            let workspace = try Workspace()
            let samples = try SampleNotifications()
            try samples.configure(workspace)
            let start = (WallClock.milliseconds / day - 3) * day
            all = try (0..<count).map { number in
                let signedAt = start + 2000 + Int64(number) * 2 * day / Int64(count)
                let body = try samples.v2(
                    "DID_RENEW", uuid: "uuid-\(number)", transaction: number,
                    cohort: Int(start / day), signedAt: signedAt)
                return .init(
                    uuid: "uuid-\(number)", signedAtMilliseconds: signedAt,
                    payload: try #require(try jsonObject(body)["signedPayload"] as? String))
            }
            self.start = start
            self.workspace = workspace
            try workspace.publish(stream, [])
            try FileManager.default.createDirectory(
                atPath: workspace.path + "/data", withIntermediateDirectories: true)
        }

        func arguments(_ apple: AppStoreStandIn, _ more: [String] = []) throws -> [String] {
            try workspace.write("keys/SubscriptionKey_\(AppStoreStandIn.keyID).p8", apple.key)
            return ["reconcile", "store"] + workspace.commandLine() + [
                "--key-file", "\(workspace.pipelines)/keys/SubscriptionKey_2X9R4HXF34.p8",
                "--issuer-id", AppStoreStandIn.issuerID, "--base-url", apple.url, "--since",
                "\(start)", "--until", "\(start + 2 * day)",
            ] + more
        }

        func run(_ apple: AppStoreStandIn, _ more: [String] = []) throws -> Program {
            try Program.run("weir", arguments(apple, more))
        }

        func count() throws -> Int { try workspace.records(stream).count }
    }

    @Test(
        "a dry run ends with 1 and appends nothing, the run appends, and the next one ends with 0")
    func exitCodes() throws {
        let installation = try Installation(60)
        let apple = try AppStoreStandIn(installation.all)
        let dry = try installation.run(apple, ["--dry-run"])
        #expect(dry.status == 1, "\(dry.error)")
        #expect(try installation.count() == 0)
        #expect(
            dry.error.hasSuffix(
                "dry run: 60 notifications would be appended to store-notifications, none were\n"))
        #expect(dry.error.contains("has no store of store notifications"))
        #expect(dry.output.contains("and 40 more: --format json lists all"))
        let run = try installation.run(apple)
        #expect(run.status == 0, "\(run.error)")
        #expect(run.error.hasSuffix("appended 60 notifications to store-notifications\n"))
        #expect(try installation.count() == 60)
        let again = try installation.run(apple)
        #expect(again.status == 0)
        #expect(try installation.count() == 60)
        let lines = again.output.split(separator: "\n")
        #expect(lines.count == 3)
        for line in lines.dropFirst() {
            #expect(
                line.split(separator: " ").dropFirst().map(String.init) == [
                    "30", "30", "0", "0", "0", "0", "complete",
                ])
        }
    }

    @Test("JSON lists every day and every missing notification")
    func json() throws {
        let installation = try Installation(60)
        let apple = try AppStoreStandIn(installation.all)
        let run = try installation.run(apple, ["--dry-run", "--format", "json"])
        let report = try jsonObject(run.output)
        #expect(report["bundle_id"] as? String == SampleNotifications.bundle)
        #expect(report["environment"] as? String == "Production")
        #expect(report["dry_run"] as? Bool == true)
        #expect((report["appended"] as? [Any])?.isEmpty == true)
        let days = try #require(report["days"] as? [[String: Any]])
        #expect(days.map { $0["missing"] as? Int } == [30, 30])
        #expect(days.map { $0["status"] as? String } == ["incomplete", "incomplete"])
        let missing = try #require(report["missing"] as? [[String: Any]])
        #expect(
            missing.map { $0["notification_uuid"] as? String } == installation.all.map(\.uuid))
    }

    @Test("a run that is killed in the middle loses nothing: the next one appends the rest")
    func killed() throws {
        let installation = try Installation()
        let silent = try AppStoreStandIn(installation.all, .init { $0.silentFrom = 8 })
        let run = try Program("weir", installation.arguments(silent))
        #expect(Wait.until { silent.requestCount >= 8 })
        run.kill()
        // The first day.
        #expect(try installation.count() == 100)
        let apple = try AppStoreStandIn(installation.all)
        let rest = try installation.run(apple)
        #expect(rest.status == 0, "\(rest.error)")
        #expect(rest.error.hasSuffix("appended 100 notifications to store-notifications\n"))
        let actions = try Program.run(
            "weir", ["actions", "--data", "\(installation.workspace.path)/data"])
        #expect(actions.output.contains("reconcile"), "\(actions.output)")
        try installation.workspace.foldNotifications()
        #expect(try installation.workspace.outcome(.accepted, Self.stream) == 200)
        #expect(try installation.workspace.outcome(.duplicates, Self.stream) == 0)
    }

    @Test("neither the key nor a token is in the output of a run that Apple does not accept")
    func secrets() throws {
        let installation = try Installation(1)
        let apple = try AppStoreStandIn(installation.all)
        let arguments = try installation.arguments(apple)
        let other = try AppStoreStandIn([])
        try installation.workspace.write("keys/SubscriptionKey_2X9R4HXF34.p8", other.key)
        let run = try Program.run("weir", arguments)
        #expect(run.status == 1)
        #expect(run.output.isEmpty)
        #expect(run.error.contains("answered 401: it does not accept the token"))
        let lines = other.key.split(separator: "\n").filter { !$0.hasPrefix("-") }
        for secret in lines.map(String.init) + ["eyJ", "Bearer"] {
            #expect(!run.error.contains(secret))
        }
    }

    @Test(
        "wrong options end with 64, and say what to write",
        arguments: [
            (["--bundle-id", "com.example.other"], "has no app 'com.example.other'"),
            (["--environment", "Xcode"], "write Production or Sandbox"),
            (["--since", "200d"], "Apple keeps notifications of Production for 180 days"),
            (
                ["--environment", "Sandbox", "--since", "40d"],
                "Apple keeps notifications of Sandbox for 30 days"
            ),
            (["--base-url", "http://api.example.com"], "write https://HOST, or http://"),
            (["--base-url", "ftp://127.0.0.1"], "write https://HOST, or http://"),
            (["--until", "2100-01-01"], "--until is in the future"),
            (["--until", "20d"], "is not before the end of the period"),
        ])
    func usage(_ more: [String], _ words: String) throws {
        let installation = try Installation(1)
        let apple = try AppStoreStandIn([])
        var arguments = try installation.arguments(apple)
        for option in stride(from: 0, to: more.count, by: 2) {
            if let index = arguments.firstIndex(of: more[option]) {
                arguments[index + 1] = more[option + 1]
            } else {
                arguments += more[option..<option + 2]
            }
        }
        let run = try Program.run("weir", arguments)
        #expect(run.status == 64, "\(run.error)")
        #expect(run.error.contains(words), "\(run.error)")
        #expect(run.error.split(separator: "\n").filter { $0.hasPrefix("weir: ") }.count >= 1)
        #expect(apple.requestCount == 0)
    }

    @Test("a key in the place of its path or an id is neither printed nor sent")
    func keyAsOption() throws {
        let installation = try Installation(1)
        let apple = try AppStoreStandIn([])
        let arguments = try installation.arguments(apple)
        let digits = apple.key.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
        var withDigits = arguments
        withDigits[try #require(arguments.firstIndex(of: "--key-file")) + 1] = digits
        let unreadable = try Program.run("weir", withDigits)
        #expect(unreadable.status == 1 && !unreadable.error.contains(digits.prefix(30)))
        for option in ["--key-file", "--key-id", "--issuer-id"] {
            var changed = arguments
            if let index = changed.firstIndex(of: option) {
                changed[index + 1] = apple.key
            } else {
                changed += [option, apple.key]
            }
            let run = try Program.run("weir", changed)
            #expect(run.status == 64, "\(option): \(run.error)")
            for line in apple.key.split(separator: "\n") where !line.hasPrefix("-") {
                #expect(!(run.error + run.output).contains(line), "\(option)")
            }
        }
        #expect(apple.requestCount == 0)
    }

    @Test("the whole time for which Apple keeps notifications can be requested")
    func longest() throws {
        let installation = try Installation(1)
        let apple = try AppStoreStandIn(installation.all)
        var arguments = try installation.arguments(apple)
        if let index = arguments.firstIndex(of: "--since") { arguments[index + 1] = "180d" }
        let run = try Program.run("weir", arguments)
        #expect(run.status == 0, "\(run.error)")
    }

    @Test("a file that is not a key is named, and the key id comes from the name of the file")
    func keyFiles() throws {
        let installation = try Installation(1)
        let apple = try AppStoreStandIn([])
        let arguments = try installation.arguments(apple)
        try installation.workspace.write("keys/SubscriptionKey_2X9R4HXF34.p8", "nonsense")
        let noKey = try Program.run("weir", arguments)
        #expect(noKey.status == 1)
        #expect(noKey.error.contains("is not a private key in PEM on P-256"))
        try installation.workspace.write("keys/key.p8", apple.key)
        let renamed = arguments.map {
            $0.replacing("SubscriptionKey_2X9R4HXF34.p8", with: "key.p8")
        }
        let noID = try Program.run("weir", renamed)
        #expect(noID.status == 64)
        #expect(noID.error.contains("give --key-id"))
        #expect(try Program.run("weir", renamed + ["--key-id", "2X9R4HXF34"]).status == 0)
    }

    @Test("every option is an environment variable too")
    func variables() throws {
        let installation = try Installation(5)
        let apple = try AppStoreStandIn(installation.all)
        _ = try installation.arguments(apple)
        let line = installation.workspace.commandLine().joined(separator: " ")
        let run = try Program.shell(
            """
            export WEIR_APP_STORE_KEY_FILE=\(installation.workspace.pipelines)/keys/SubscriptionKey_2X9R4HXF34.p8
            export WEIR_APP_STORE_KEY_ID=2X9R4HXF34 WEIR_APP_STORE_ISSUER_ID=\(AppStoreStandIn.issuerID)
            export WEIR_APP_STORE_BUNDLE_ID=\(SampleNotifications.bundle) WEIR_APP_STORE_ENVIRONMENT=Production
            export WEIR_APP_STORE_URL=\(apple.url) WEIR_DRY_RUN=1 WEIR_ONLY_FAILURES=0
            weir reconcile store \(line) --since \(installation.start)
            """)
        #expect(run.status == 1, "\(run.error)")
        #expect(run.error.contains("dry run: 5 notifications would be appended"))
    }
}
