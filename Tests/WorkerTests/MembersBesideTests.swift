import Foundation
import MockKafka
import Testing

@Suite("--until-end beside members of the group")
struct MembersBesideTests {
    @Test(
        "folds and publishes everything, and fails in words when the group takes no offsets of it")
    func notTaken() async throws {
        try await onThread {
            let place = try ClusterPlace(.mock, isHasty: false)
            try place.makeTopic("bids")
            try place.configure("bids")
            try place.publish(Samples.bids(300, seed: 51))
            let member = try place.worker("weir-bids", data: "member")
            defer { member.kill() }
            try place.waitUntilFolded(300, "bids", data: ["member"])
            let worker = try WorkerProcess(
                "weir-bids", place: place.place, data: "beside", address: place.address,
                arguments: ["--until-end"], log: "beside.log")
            try worker.waitForExit()
            #expect(worker.process.terminationStatus == 1)
            let last = worker.logged.split(separator: "\n").last.map(String.init) ?? ""
            #expect(last.contains("the group's offsets of 'bids'"), "\(worker.logged)")
            #expect(last.contains("stop the group's members"), "\(worker.logged)")
            #expect(
                try place.contents("bids", data: "beside")
                    == place.contents("bids", data: "member"))
        }
    }
}
