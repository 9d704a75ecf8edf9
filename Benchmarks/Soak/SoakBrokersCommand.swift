import ArgumentParser
import CRdKafka
import Foundation
import Logging
import TestKit

/// The child: mock brokers that run the commands on standard input until it ends.
struct SoakBrokersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak-brokers", shouldDisplay: false)

    @Argument var topic: String
    @Argument var partitions: Int32

    func run() throws {
        // The parent handles signals of the terminal.
        signal(SIGINT, SIG_IGN)
        let cluster = try MockCluster(brokerCount: 3)
        try cluster.createTopic(topic, partitionCount: partitions)
        try cluster.createTopic(topic + ".dlq", partitionCount: partitions)
        print(cluster.brokers.joined(separator: ","))
        fflush(nil)
        while let line = readLine() {
            obey(line.split(separator: " "), cluster)
            print("done")
            fflush(nil)
        }
    }

    private func obey(_ explanation: [Substring], _ cluster: MockCluster) {
        let number = explanation.dropFirst().first.flatMap { Int32($0) } ?? 0
        switch explanation.first {
        case "down": cluster.setBroker(number, isUp: false)
        case "up": cluster.setBroker(number, isUp: true)
        case "coordinator": cluster.setCoordinator(number, ofGroup: BidsGroup.name)
        case "leaders":
            for partition in 0..<partitions {
                cluster.setLeader(1 + (partition + number) % 3, of: topic, partition)
            }
        case "delay": cluster.setDelay(number, ofBroker: -1)
        case "fence":
            // Mock brokers do not fence by themselves: the next heartbeat is answered with this error.
            cluster.fail(.heartbeat, with: [RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID])
        default: break
        }
    }
}
