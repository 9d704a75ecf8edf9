import ArgumentParser
import Foundation
import Program
import Store
import TestKit
import Testing

@testable import Deliveries
@testable import weir

@Suite("weir watch")
struct WatchCommandTests {
    @Test(
        "options that do not go together are bad usage",
        arguments: [
            ["--follow", "--as-of", "2026-11-20"], ["--follow", "--since", "7d"],
            ["--every-seconds", "5"], ["--metrics", "127.0.0.1:0"], ["--as-of", "2999-01-01"],
            ["--as-of", "2026-11-20", "--at", "2026-11-20"], ["--at", "soon"],
            ["--follow", "--every-seconds", "0"], ["--follow", "--metrics", "nowhere"],
            ["--format", "xml"],
        ])
    func badUsage(_ arguments: [String]) throws {
        #expect {
            var command = try WeirCommand.parseAsRoot(
                ["watch", "--pipelines", Repository.path("pipelines")] + arguments)
            try command.run()
        } throws: { error in
            CommandError(error)?.exitCode == 64
        }
    }

    @Test("documents that failed count once each, by partner and by when they were tried")
    func failures() throws {
        let workspace = try TemporaryDirectory()
        let store = try DeliveryStore(
            path: DeliveryStore.path(in: workspace.path), topic: "t", logIdentity: "l")
        try store.commit { db in
            for number in 1...4 {
                try db.execute(
                    sql: """
                        INSERT INTO deliveries VALUES (?, ?, 1, ?, 0, ?, 'pending', '', 2, 0, 0, 0, x'7B7D')
                        """,
                    arguments: [number, "d\(number)", number < 4 ? "acme" : "other", number])
            }
            for (delivery, number, time, status) in [
                (1, 1, 1000, 500), (1, 2, 2000, 500), (2, 1, 2000, 200), (3, 1, 5000, 500),
                (4, 1, 2000, 404),
            ] {
                try db.execute(
                    sql: "INSERT INTO attempts VALUES (?, ?, ?, 1, ?, NULL)",
                    arguments: [delivery, number, time, status])
            }
        }
        let found = try store.failures(sinceMilliseconds: 1000, untilMilliseconds: 5000)
        #expect(found.map(\.partner) == ["acme", "other"])
        #expect(found.map(\.count) == [1, 1])
        #expect(found.map(\.firstMilliseconds) == [1000, 2000])
        #expect(try store.failures(sinceMilliseconds: 0, untilMilliseconds: 6000)[0].count == 2)
    }
}
