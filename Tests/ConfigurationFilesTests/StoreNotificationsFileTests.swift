import ConfigurationFiles
import ConfigurationValues
import Foundation
import Signatures
import Streams
import Testing

@Suite("store-notifications.yaml")
struct StoreNotificationsFileTests {
    private func fault(_ text: String, files: [String: String] = [:]) throws -> String? {
        let all = files.merging(["store-notifications.yaml": text]) { $1 }
        return try TemporaryPipelines(all).fault { directory throws(ConfigurationError) in
            try directory.storeNotifications()
        }
    }

    private static func pem() throws -> String {
        let root = URL(filePath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let pipelines = root.appending(path: "pipelines").path()
        let files = FileManager.default.enumerator(atPath: pipelines)?.compactMap { $0 as? String }
        let name = try #require(files?.first { $0.hasSuffix(".pem") })
        return try String(contentsOfFile: "\(pipelines)/\(name)", encoding: .utf8)
    }

    @Test("a file without keys trusts Apple alone, in Production and Sandbox, and no app")
    func defaults() throws {
        let pipeline = try TemporaryPipelines(["store-notifications.yaml": ""]).read {
            try $0.storeNotifications()
        }
        #expect(pipeline.roots.map(\.fingerprint) == [AppStoreRoot.appleRootCAG3.fingerprint])
        #expect(pipeline.environments == [.production, .sandbox])
        #expect(pipeline.apps.isEmpty)
    }

    @Test("every key is read; files are relative to the directory, secrets stand one a line")
    func everyKey() throws {
        let files = [
            "store-notifications.yaml": """
            topic: notes
            roots: [roots/a.pem]
            environments: [Sandbox, Xcode]
            apps:
              - bundle_id: com.example.a
                app_apple_id: 525463029
                shared_secrets: [0123, "b c"]
              - {bundle_id: com.example.b, shared_secrets_file: secrets/b}
              - {bundle_id: com.example.c}
            """,
            "roots/a.pem": try Self.pem(), "secrets/b": "first\r\n\n  second \nthird",
        ]
        let pipeline = try TemporaryPipelines(files).read { try $0.storeNotifications() }
        #expect(pipeline.roots.count == 2)
        #expect(pipeline.environments == [.sandbox, .xcode])
        #expect(
            pipeline.apps.map(\.bundleID) == ["com.example.a", "com.example.b", "com.example.c"])
        #expect(pipeline.apps.map(\.appAppleID) == [525_463_029, nil, nil])
        #expect(
            pipeline.apps.map { $0.secrets.values.sorted() } == [
                ["0123", "b c"], ["first", "second", "third"], [],
            ])
    }

    @Test("what is wrong is said with file, line and key")
    func faults() throws {
        let cases = [
            ("dedupe_window_seconds: 5", "1: dedupe_window_seconds: ids of store-notifications"),
            ("root: []", "1: root: unknown key"),
            ("\nroots: [a.pem]", "2: roots[0]: the file '"),
            ("environments: []", "1: environments: is empty"),
            ("environments: [production]", "1: environments[0]: is 'production'"),
            ("apps:\n  - {app_apple_id: 5}", "2: apps[0].bundle_id: is missing"),
            ("apps:\n  - {bundle_id: a, app_apple_id: x}", "2: apps[0].app_apple_id: must be"),
            (
                "apps:\n  - bundle_id: a\n  - bundle_id: a",
                "3: apps[1]: bundle_id 'a' occurs in an earlier app"
            ),
            (
                "apps:\n  - {bundle_id: a, shared_secrets: [b], shared_secrets_file: c}",
                "2: apps[0].shared_secrets_file: cannot be combined with shared_secrets"
            ),
            (
                "apps:\n  - {bundle_id: a, shared_secrets: ['']}",
                "2: apps[0].shared_secrets[0]: is empty"
            ),
            (
                "apps:\n  - {bundle_id: a, shared_secrets_file: none}",
                "2: apps[0].shared_secrets_file: the file '"
            ),
            (
                "apps:\n  - {bundle_id: a, shared_secrets_file: empty}",
                "2: apps[0].shared_secrets_file: 'empty' contains no secret"
            ),
        ]
        for (text, words) in cases {
            let found = try fault(text, files: ["empty": "\n \n"])
            #expect(found?.hasPrefix("store-notifications.yaml:" + words) == true, "\(found ?? "")")
        }
    }

    @Test("no error shows a secret")
    func errorsAreDiscreet() throws {
        for text in [
            "shared_secrets: hunter2", "shared_secrets: [[hunter2]]",
            "shared_secrets: [{hunter2: hunter2}]", "shared_secrets: {a: hunter2}",
        ] {
            let found = try fault("apps:\n  - {bundle_id: a, \(text)}")
            #expect(found != nil)
            #expect(found?.contains("hunter2") == false)
        }
    }

    @Test("check reads the file when it is there")
    func check() throws {
        let files = ["bids.yaml": "", "postbacks.yaml": "", "store-notifications.yaml": "x: 1"]
        let faults = try TemporaryPipelines(files).read { $0.check() }
        #expect(faults.map(\.keyPath).contains("x"))
    }
}
