import EventLog
import Foundation
import MockKafka
import Simulation
import Testing

@testable import Worker

@Suite("Dead letters that no broker takes")
struct AbsentLeaderTests {
    @Test(
        "are waited for, which /readyz says; SIGTERM ends within seconds, and the next start publishes them"
    )
    func waits() async throws {
        try await onThread {
            let place = try ClusterPlace(.mock)
            try place.makeTopic("bids")
            try place.makeTopic("bids.dlq")
            try place.configure("bids")
            try place.publish(Samples.bids(300, seed: 41))
            for partition in 0..<4 as Range<Int32> {
                try place.cluster.setLeader(-1, of: "bids.dlq", partition)
            }
            let worker = try WorkerProcess(
                "weir-bids", place: place.place, data: "data", address: place.address,
                arguments: ["--partitions", "0-3", "--metrics", "127.0.0.1:0"], log: "worker.log")
            defer { worker.kill() }
            let port = try #require(
                within(Wait.seconds) { Self.port(in: worker.logged) }, "\(worker.logged)")
            let unready = within(Wait.seconds) { () -> String? in
                let answer = try? HTTPAnswer("/readyz", port: port)
                guard let body = answer?.body, body.contains("does not take") else { return nil }
                return answer?.status == 503 ? body : nil
            }
            #expect(unready?.contains(place.address) == true)
            #expect(try HTTPAnswer("/livez", port: port).status == 200)
            #expect(worker.process.isRunning)
            worker.signal(SIGTERM)
            // Far less than the log is waited for when nobody asks to stop.
            try worker.waitForExit(seconds: Wait.seconds)
            #expect(worker.process.terminationReason == .exit)
            #expect(worker.process.terminationStatus == 0)
            for partition in 0..<4 as Range<Int32> {
                try place.cluster.setLeader(1, of: "bids.dlq", partition)
            }
            #expect(try place.records("bids.dlq").isEmpty)
            try place.foldAll("weir-bids", data: "data")
            try place.expectDeadLetters(of: "bids", data: "data")
        }
    }

    private static func port(in text: String) -> UInt16? {
        text.components(separatedBy: "http://127.0.0.1:").dropFirst().first?
            .split(separator: "/").first.flatMap { UInt16($0) }
    }

    /// What comes within so many seconds.
    private func within<Answer>(_ seconds: Double, _ look: () -> Answer?) -> Answer? {
        let deadline = Date().addingTimeInterval(seconds)
        while Date() < deadline {
            if let answer = look() { return answer }
            usleep(50_000)
        }
        return look()
    }
}
