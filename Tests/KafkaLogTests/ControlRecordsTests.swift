import CRdKafka
import EventLog
import TestKit
import Testing

@Suite(
    "Records of transactions that others make",
    .enabled(if: TestCluster.realBrokers != nil, "the mock cluster writes no control records"))
struct ControlRecordsTests {
    @Test("control records have offsets and are no records: a reader passes them, at the end too")
    func passed() throws {
        let log = try TestLog(.real)
        let topic = try log.makeTopic(1)
        let producer = try TransactionalProducer(TestCluster.realBrokers ?? [])
        try producer.transact(topic, ["a", "b"], isCommitted: true)
        try producer.transact(topic, ["lost"], isCommitted: false)
        try producer.transact(topic, ["c"], isCommitted: true)
        let reader = try log.log.reader(topic: topic)
        defer { reader.close() }
        let end = try #require(try reader.bounds().first?.endOffset)
        // Two records and one, one that was taken back, and the end of each transaction.
        #expect(end == 7)
        let found = try reader.readToEnd()
        #expect(found.map(\.text) == ["a", "b", "c"])
        #expect(found.map(\.offset) == [0, 1, 5])
        #expect(reader.position(partition: 0) == end)
        #expect(reader.isCaughtUp)
    }
}

/// A producer that publishes within transactions, which Weir does not.
private final class TransactionalProducer {
    private let client: OpaquePointer

    struct Fault: Error {}

    init(_ brokers: [String]) throws {
        let configuration = rd_kafka_conf_new()
        for (name, value) in [
            ("bootstrap.servers", brokers.joined(separator: ",")),
            ("transactional.id", "test-\(UInt64.random(in: 0 ... .max))"),
        ] {
            rd_kafka_conf_set(configuration, name, value, nil, 0)
        }
        client = try #require(rd_kafka_new(RD_KAFKA_PRODUCER, configuration, nil, 0))
        try check(rd_kafka_init_transactions(client, 30_000))
    }

    deinit { rd_kafka_destroy(client) }

    /// Publishes records to partition 0, and keeps them or takes them back.
    func transact(_ topic: String, _ texts: [String], isCommitted: Bool) throws {
        try check(rd_kafka_begin_transaction(client))
        for text in texts {
            var text = text
            let code = text.withUTF8 { bytes in
                weir_rd_kafka_produce(
                    client, topic, 0, 0, nil, 0, bytes.baseAddress, bytes.count, nil, nil)
            }
            try #require(code == RD_KAFKA_RESP_ERR_NO_ERROR)
        }
        try #require(rd_kafka_flush(client, 30_000) == RD_KAFKA_RESP_ERR_NO_ERROR)
        try check(
            isCommitted
                ? rd_kafka_commit_transaction(client, 30_000)
                : rd_kafka_abort_transaction(client, 30_000))
    }

    private func check(_ error: OpaquePointer?) throws {
        guard let error else { return }
        defer { rd_kafka_error_destroy(error) }
        Issue.record("\(String(cString: rd_kafka_error_string(error)))")
        throw Fault()
    }
}
