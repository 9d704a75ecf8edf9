import EventLog

/// Records that wait to be durable.
typealias PendingAppend = PendingRequest<AppendContent, [RecordPosition], AppendRefusal>

/// What a request has appended.
struct AppendContent: Sendable {
    let records: [OutgoingRecord]
    /// The bytes that they hold.
    let byteCount: Int

    init(_ records: [OutgoingRecord]) {
        self.records = records
        byteCount = records.reduce(0) { $0 + $1.byteCount }
    }
}

extension OutgoingRecord {
    /// The bytes that it holds.
    fileprivate var byteCount: Int {
        headers.reduce((key?.count ?? 0) + (value?.count ?? 0)) { sum, header in
            sum + header.name.utf8.count + (header.value?.count ?? 0)
        }
    }
}
