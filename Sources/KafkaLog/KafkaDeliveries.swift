import CRdKafka
import EventLog

/// What became of the records of one append.
struct KafkaDeliveries {
    /// Where each record lies, in the order of the append.
    private(set) var positions: [RecordPosition] = []
    /// Records that nothing was heard of yet.
    private(set) var outstanding = 0
    /// The first failure, and the place in the append of the record that it hit.
    private(set) var failure: (code: rd_kafka_resp_err_t, place: Int)?

    /// The places of records that were not acknowledged.
    var gaps: [Int] { positions.indices.filter { positions[$0].partition < 0 } }

    /// Begins an append of so many records.
    mutating func begin(_ count: Int) {
        positions = Array(repeating: RecordPosition(partition: -1, offset: -1), count: count)
        outstanding = 0
        failure = nil
    }

    /// Counts a record that was handed over.
    mutating func handOver() {
        outstanding += 1
    }

    /// Takes a delivery report. The message carries its place in the append, counted from 1.
    mutating func note(_ message: rd_kafka_message_t) {
        outstanding -= 1
        let place = Int(bitPattern: message._private) - 1
        guard message.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
            failure = failure ?? (message.err, place)
            return
        }
        guard positions.indices.contains(place) else { return }
        positions[place] = RecordPosition(partition: message.partition, offset: message.offset)
    }
}
