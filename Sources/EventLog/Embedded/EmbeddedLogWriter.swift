import GRDB

/// Appends to an embedded log: each call is one transaction, on disk when it returns.
final class EmbeddedLogWriter: LogWriter {
    private let connection: EmbeddedWriteConnection
    private let address: String

    init(connection: EmbeddedWriteConnection, address: String) {
        self.connection = connection
        self.address = address
    }

    /// Appends all of the records or none.
    ///
    /// Throws `unknownTopic`, `unknownPartition`, `disk`, or `busy` after 30 seconds.
    @discardableResult
    func append(
        _ records: [OutgoingRecord], while _: () -> Bool
    ) throws(LogError) -> [RecordPosition] {
        guard !records.isEmpty else { return [] }
        return try connection.transaction("append to") { db in
            var append = try EmbeddedAppend(db, address: address)
            return try append.run(records)
        }
    }
}
