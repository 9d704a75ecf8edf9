import Engine
import Foundation
import History
import Program
import Streams
import Testing

@testable import weir

@Suite("Times on the command line")
struct TimeTests {
    @Test(
        "relative times count back from the start of the program, in UTC",
        arguments: [
            ("now", "2026-11-22T03:17:48.500Z"), ("today", "2026-11-22T00:00:00Z"),
            ("yesterday", "2026-11-21T00:00:00Z"), ("7d", "2026-11-15T03:17:48.500Z"),
            ("-24h", "2026-11-21T03:17:48.500Z"), ("90s", "2026-11-22T03:16:18.500Z"),
            ("15m", "2026-11-22T03:02:48.500Z"), ("2w", "2026-11-08T03:17:48.500Z"),
        ])
    func relative(_ text: String, _ instant: String) throws {
        let now = try #require(UTC.milliseconds(text: "2026-11-22T03:17:48.500Z"))
        let found = try #require(LogTime.relative(text, nowMilliseconds: now))
        #expect(UTC.text(milliseconds: found) == instant)
    }

    @Test(
        "what is no time is refused with the forms that are",
        arguments: [
            "d", "7", "--7d", "+7d", "7y", "7 d", "99999999999d", "tomorrow", "", "-", "７d",
        ])
    func refused(_ text: String) {
        #expect(LogTime.relative(text, nowMilliseconds: 1_700_000_000_000) == nil)
        #expect { try LogTime.milliseconds(text, option: "--since") } throws: { error in
            let error = error as? CommandError
            return error?.exitCode == 64 && error?.explanation?.contains("yesterday") == true
        }
    }

    @Test(
        "a number is milliseconds, and one that can be none is refused",
        arguments: [
            "0", "-1", "-86400000", "7", "2026", "20261122", "1795318668", "999999999999",
            "253402300800000",
        ])
    func numbers(_ text: String) throws {
        #expect { try LogTime.milliseconds(text, option: "--since") } throws: { error in
            let error = error as? CommandError
            return error?.exitCode == 64
                && error?.explanation?.contains("milliseconds since 1970") == true
        }
        #expect(try LogTime.milliseconds("1795318668500", option: "--since") == 1_795_318_668_500)
    }

    @Test("a stretch that ends before it begins is refused, wherever one is asked for")
    func turnedAround() throws {
        let times = ["--since", "2026-11-22", "--until", "2026-11-21T23:59:59Z"]
        for arguments in [
            ["dump", "bids"], ["dump", "funnel"], ["explain", "bids"], ["reconcile"],
            ["export", "postbacks", "--profile", "adjust"], ["dead-letters", "list"],
            ["diff", "a", "b", "bids"],
        ] {
            var command = try WeirCommand.parseAsRoot(arguments + times)
            #expect { try command.run() } throws: { error in
                let error = error as? CommandError
                return error?.exitCode == 64
                    && error?.explanation?.contains("the range is empty") == true
            }
        }
        #expect {
            var command = try WeirCommand.parseAsRoot([
                "read", "--topic", "bids", "--from", "today", "--to", "yesterday",
            ])
            try command.run()
        } throws: { ($0 as? CommandError)?.exitCode == 64 }
    }

    @Test("a day is the 24 hours from its midnight in UTC")
    func day() throws {
        func range(_ arguments: String...) throws -> [Int64?] {
            let (since, until) = try TimeOptions.parse(arguments).milliseconds()
            return [since, until]
        }
        #expect(try range("--day", "2026-11-24") == [1_795_478_400_000, 1_795_564_800_000])
        let midnight = try LogTime.milliseconds("today", option: "--since")
        #expect(try range("--day", "today") == [midnight, midnight + 86_400_000])
        #expect(try range("--day", "yesterday") == [midnight - 86_400_000, midnight])
        for refused in [
            ["2026-11-24T00:00:00Z"], ["1795478400"], ["1795478400000"], ["2026-13-01"], ["7d"],
            [""],
            ["2026-11-24", "--since", "2026-11-24"], ["2026-11-24", "--until", "2026-11-24"],
        ] {
            #expect {
                try TimeOptions.parse(["--day"] + refused).milliseconds()
            } throws: { ($0 as? CommandError)?.exitCode == 64 }
        }
    }

    @Test("they are taken wherever a time is, also with a minus in front")
    func options() throws {
        for arguments in [
            ["dump", "bids", "--since", "-24h", "--until", "today"],
            ["export", "postbacks", "--profile", "adjust", "--since", "-7d", "--until", "-1d"],
            ["changes", "bids", "--from", "-2d", "--to", "-1d"],
            ["read", "--topic", "bids", "--from", "-2d", "--to", "yesterday"],
            ["replay", "--topic", "bids", "--into", "x", "--from-time", "-2d", "--to-time", "1h"],
            ["explain", "bids", "--since", "-24h", "--until", "now"],
            ["dead-letters", "list", "--since", "-24h", "--until", "now"],
            ["dump", "bids", "--as-of", "-24h"],
        ] {
            #expect(throws: Never.self) { try WeirCommand.parseAsRoot(arguments) }
        }
        #expect(try ReadLimit("12", option: "--from") == .offset(12))
        let today = try LogTime.milliseconds("today", option: "--from")
        #expect(try ReadLimit("today", option: "--from") == .time(today))
    }
}
