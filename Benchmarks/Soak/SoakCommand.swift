import ArgumentParser
import Engine
import Foundation
import Logging
import Program

/// Runs workers of one consumer group under load, disturbs them for minutes, and then compares the result with the
/// published records.
struct SoakCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract: "Disturbs weir-bids on Kafka for minutes on end, and checks every number.",
        discussion: """
            Workers join, leave, are stopped beyond their session and killed; brokers go and come \
            back, coordinators and leaders move. Then: totals, digest, dead letters, exits, memory, \
            and the time to catch up. Ends with 1 and what was wrong, and then keeps its files. \
            Without --brokers a child process runs librdkafka's mock brokers. On a real cluster \
            nobody else may be in the group weir-bids.
            """)

    @Option(help: "How long to disturb, in minutes, up to 600.") var minutes = 10.0
    @Option(help: "What the disturbances follow from.") var seed: UInt64 = 1
    @Option(help: "HOST:PORT[,HOST:PORT] of a real cluster.") var brokers: String?
    @Option(help: "A shell command that kills a broker of the real cluster.")
    var brokerKill: String?
    @Option(help: "A shell command that starts it again.") var brokerStart: String?
    @Option(help: "Partitions of the topic.") var partitions: Int32 = 12
    @Option(help: "Records a second.") var rate = 2000
    @Option(help: "Where weir and weir-bids are; by default beside this program.")
    var programs: String?
    @Flag(
        help:
            "Workers take snapshots, two of four are standbys, and a killed one loses its store, as with the disk of a machine."
    )
    var snapshots = false
    @Option(help: "The most resident memory that a worker may ever have, in MiB.")
    var memoryBound = 192
    @Option(help: "The most seconds from the last disturbance until nothing is left to fold.")
    var recoveryBound = 60.0

    func validate() throws {
        // Duplicates are recognised within the dedupe window of the workspace.
        guard minutes > 0, minutes <= 600 else { throw ValidationError("--minutes is 0 to 600") }
        guard rate >= 20, partitions > 0 else {
            throw ValidationError("--rate is 20 or more, --partitions 1 or more")
        }
        guard (brokerKill == nil) == (brokerStart == nil), brokerKill == nil || brokers != nil
        else {
            throw ValidationError("--broker-kill and --broker-start go together, with --brokers")
        }
    }

    func run() throws {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        StopSignal.listen()
        signal(SIGPIPE, SIG_IGN)
        let workspace = try SoakWorkspace(
            programs: programs, topic: "soak-\(UUID().uuidString.prefix(8).lowercased())",
            hasSnapshots: snapshots)
        let cluster = try cluster(topic: workspace.topic)
        defer { cluster.stop() }
        workspace.use(cluster.addresses)
        try workspace.createTopic(partitionCount: partitions)
        let run = try SoakRun(workspace: workspace, cluster: cluster, seed: seed, rate: rate)
        let faults = try run.disturb(seconds: minutes * 60) {
            try SoakVerdict(
                run: $0, memoryBound: memoryBound, recoveryBound: recoveryBound)
        }
        guard faults.isEmpty else {
            print("\nWRONG, in \(workspace.path):")
            for fault in faults { print("  " + fault) }
            throw ExitCode.failure
        }
        print("\nall as it is to be")
        workspace.remove()
    }

    private func cluster(topic: String) throws -> any SoakCluster {
        guard let brokers else {
            return try SoakMockCluster(topic: topic, partitionCount: partitions)
        }
        return SoakRealCluster(
            addresses: brokers.split(separator: ",").map(String.init),
            killCommand: brokerKill, startCommand: brokerStart)
    }
}
