import ConversionModels
import EmbeddedLog
import EventLog
import Foundation
import GRDB
import Streams
import TestKit
import Testing

@testable import ConversionValues

/// A log with the topic, and a place for the file of states; removed at the end.
final class ServiceWorkspace {
    private let files: TemporaryDirectory
    var path: String { files.path }

    init() throws {
        files = try TemporaryDirectory()

        try log(.create).createTopic("conversion-updates", partitionCount: 4)
    }

    func log(_ mode: EmbeddedLog.Mode = .existing) throws -> EmbeddedLog {
        try EmbeddedLog(path: path + "/log.sqlite", mode: mode)
    }

    func service(_ name: String = "conversions") throws -> ConversionService {
        try ConversionService(log: log(), storePath: "\(path)/\(name).sqlite", apps: Shipped.apps())
    }

    /// What a file of states holds.
    func states(_ name: String = "conversions", of installs: [String]) throws -> [InstallState?] {
        let store = try store(name)
        return try installs.map {
            try store.state(of: InstallKey(appID: Shipped.meals, installID: $0))
        }
    }

    func state(of key: InstallKey) throws -> InstallState? {
        try store("conversions").state(of: key)
    }

    private func store(_ name: String) throws -> InstallStore {
        let reader = try log().reader(topic: "conversion-updates")
        return try InstallStore(
            path: "\(path)/\(name).sqlite", topic: "conversion-updates",
            logIdentity: reader.identity(), partitionCount: 4)
    }

    /// Leaves a file that opens, with states that cannot be read.
    func damageStates() throws {
        let queue = try DatabaseQueue(path: path + "/conversions.sqlite")
        try queue.inDatabase { try $0.execute(sql: "UPDATE installs SET state = '{'") }
        try queue.close()
    }

    /// Names of installs whose updates are in one partition.
    static func installs(ofPartition partition: Int32, _ count: Int) -> [String] {
        let names = (0...).lazy.map { "install-\($0)" }.filter {
            KeyPartitioner.partition(key: Array($0.utf8), value: nil, partitionCount: 4)
                == partition
        }
        return Array(names.prefix(count))
    }

    func recordCount() throws -> Int64 {
        try log().reader(topic: "conversion-updates").bounds().reduce(0) { $0 + $1.endOffset }
    }
}

@Suite("The service that tells installs their values")
struct ServiceTests {
    private func request(
        _ install: String, _ event: String, total: Double = 0, at now: Int64 = Time.noon
    ) throws -> ConversionRequest {
        var device = Device(installID: install, app: Shipped.meals)
        device.totals = ["GBP": total]
        return try device.request(event, at: now)
    }

    @Test(
        "an answer is in the log when it is given, and one install's requests are answered in turn")
    func concurrent() async throws {
        let workspace = try ServiceWorkspace()
        let service = try workspace.service()
        let requests = try (0..<200).map { number in
            try request("install-\(number % 7)", "order", total: Double(number))
        }
        let answers = try await withThrowingTaskGroup(of: ConversionAnswer.self) { group in
            for request in requests {
                group.addTask { try await service.answer(request, nowMilliseconds: Time.noon) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count == 200)
        #expect(try workspace.recordCount() == 200)
        service.stop()
        let states = try workspace.states(of: (0..<7).map { "install-\($0)" })
        for (number, state) in states.enumerated() {
            let totals = stride(from: number, to: 200, by: 7).map { Int64($0) * 1_000_000 }
            #expect(state?.totalRevenueMicros["GBP"] == totals.max())
            #expect(state?.windows[0].eventCounts["order"] == Int64(totals.count))
        }
        await #expect(throws: ConversionServiceError.stopped) {
            try await service.answer(requests[0], nowMilliseconds: Time.noon)
        }
    }

    @Test(
        "states made anew from the log are those that were served, through restarts and lost commits"
    )
    func rebuilt() async throws {
        let workspace = try ServiceWorkspace()
        let installs = (0..<5).map { "install-\($0)" }
        var random = SeededGenerator(seed: 4)
        var now = Time.noon
        for run in 0..<4 {
            if run == 2 {
                // As a crash between the append and the commit leaves it.
                try FileManager.default.removeItem(atPath: workspace.path + "/conversions.sqlite")
                for end in ["-wal", "-shm"] {
                    try? FileManager.default.removeItem(
                        atPath: workspace.path + "/conversions.sqlite" + end)
                }
            }
            let service = try workspace.service()
            for _ in 0..<40 {
                now += Int64.random(in: 0...Time.hour, using: &random)
                let install = try #require(installs.randomElement(using: &random))
                let total = Double(Int.random(in: 0...99, using: &random))
                _ = try await service.answer(
                    request(install, "order", total: total, at: now), nowMilliseconds: now)
            }
            service.stop()
        }
        try workspace.service("anew").stop()
        let served = try workspace.states(of: installs)
        #expect(served.allSatisfy { $0 != nil })
        #expect(try workspace.states("anew", of: installs) == served)
    }

    @Test("what another collector told is known once its events are read")
    func severalCollectors() async throws {
        let workspace = try ServiceWorkspace()
        let one = try workspace.service("one")
        let other = try workspace.service("other")
        let ask = try request("install", "order", total: 60)
        let told = try await one.answer(ask, nowMilliseconds: Time.noon)
        // Its own append shows the gap; what follows goes by both.
        _ = try await other.answer(
            request("install", "registration"), nowMilliseconds: Time.noon + 1)
        let lower = try request("install", "registration", total: 1)
        let next = try await other.answer(lower, nowMilliseconds: Time.noon + 2)
        #expect(try #require(next.fine) >= #require(told.fine))
        one.stop()
        other.stop()
        let states = try [
            workspace.states("one", of: ["install"]), workspace.states("other", of: ["install"]),
        ]
        #expect(states[1][0]?.windows[0].eventCounts == ["order": 1, "registration": 2])
        // The first one may have read them without a request.
        try workspace.service("one").stop()
        #expect(try workspace.states("one", of: ["install"]) == states[1])
    }

    @Test("foreign records of the topic are passed over")
    func foreignRecords() async throws {
        let workspace = try ServiceWorkspace()
        try workspace.log().writer().append([
            OutgoingRecord(topic: "conversion-updates", key: [1], value: Array("{}".utf8)),
            OutgoingRecord(topic: "conversion-updates", key: [2], value: nil),
        ])
        let service = try workspace.service()
        let answer = try await service.answer(
            request("install", "registration"), nowMilliseconds: Time.noon)
        #expect(answer.fine == 8)
        service.stop()
    }

    @Test("a file that is in use is refused")
    func refusal() throws {
        let workspace = try ServiceWorkspace()
        let service = try workspace.service()
        #expect(throws: ConversionServiceError.self) { try workspace.service() }
        service.stop()
    }
}
