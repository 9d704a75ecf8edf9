import EventLog
import Foundation
import KafkaLog
import Logging
import MockKafka
import Program
import Testing

@testable import PartnerPostbacks

@Suite("Delivering from Kafka", .serialized)
struct KafkaTests {
    @Test("documents of all partitions are sent once, and a new store begins where the group is")
    func kafka() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("partner-postbacks", partitionCount: 4)
        let partner = try ScriptedPartner()
        let files = try PartnerFiles("url: \(partner.url)/\nallow_private: true")
        let log = try KafkaLog(
            KafkaSettings(brokers: cluster.brokers),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        func publish(_ numbers: Range<Int>) throws {
            try log.writer().append(
                numbers.map { number in
                    let id = Documents.id(number)
                    return OutgoingRecord(
                        topic: "partner-postbacks", key: Array(id.utf8), headers: [],
                        value: Array(Documents.install(id: id).utf8))
                })
        }
        func deliver(_ data: String) throws {
            try PartnerPostbacksWorker.work(
                WorkerOptions(
                    log: LogAddress("kafka://" + cluster.brokers.joined(separator: ",")),
                    data: "\(files.path)/\(data)", pipelines: files.path, untilEnd: true),
                stop: StopSignal())
        }
        try publish(0..<40)
        try deliver("one")
        #expect(partner.requests.count == 40)
        try deliver("one")
        try publish(40..<60)
        try deliver("other")
        let keys = partner.requests.compactMap { $0.headers["idempotency-key"] }
        #expect(keys.count == 60)
        #expect(Set(keys) == Set((0..<60).map { "\(Documents.id($0)):1" }))
    }
}
