/// Where an appended record lies.
package struct RecordPosition: Equatable, Sendable {
    /// Number of the partition, from 0.
    package var partition: Int32
    /// Offset within the partition.
    package var offset: Int64

    /// Makes a position.
    package init(partition: Int32, offset: Int64) {
        self.partition = partition
        self.offset = offset
    }
}

/// Appends records to the topics of an event log, from one thread.
package protocol LogWriter: AnyObject {
    /// Appends records in order and returns once all of them are durable, with their positions in the
    /// same order. On an error none of them, or on Kafka an unknown part of them, was appended.
    ///
    /// A record without a partition goes to murmur2(key) modulo the number of partitions, as Kafka's
    /// clients do it; without a key to murmur2(value), and a tombstone without a key to partition 0.
    ///
    /// - Parameter isWanted: asked several times a second while brokers are waited for; false gives
    ///   the append up, which then throws `unavailable`.
    @discardableResult
    func append(
        _ records: [OutgoingRecord], while isWanted: () -> Bool
    ) throws(LogError) -> [RecordPosition]
}

extension LogWriter {
    /// Appends records, and waits for brokers as long as the log itself allows.
    @discardableResult
    package func append(_ records: [OutgoingRecord]) throws(LogError) -> [RecordPosition] {
        try append(records, while: { true })
    }
}
