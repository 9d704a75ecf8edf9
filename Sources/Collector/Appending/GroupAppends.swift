import EventLog

/// Appends groups of records to a log and answers the requests that wait for them.
///
/// `@unchecked Sendable`: only the appender's thread uses it and its log.
final class GroupAppends: @unchecked Sendable {
    private let log: any LogBackend
    /// Nil after a fault that the writer may have caused.
    private var writer: (any LogWriter)?

    init(log: any LogBackend, writer: any LogWriter) {
        self.log = log
        self.writer = writer
    }

    /// Appends the records of several requests and answers them. Returns the fault of the log, if any.
    ///
    /// - Parameter noting: called with the same fault before the answers, so that `/readyz` never contradicts an
    ///   answer.
    func append(_ group: [PendingAppend], noting: (LogError?) -> Void) -> LogError? {
        do throws(LogError) {
            let positions = try append(group.flatMap(\.content.records))
            noting(nil)
            answer(group, positions: positions)
            return nil
        } catch {
            guard group.count > 1, error.isOfRecords else {
                let fault = error.isOfRecords ? nil : error
                noting(fault)
                for pending in group { pending.answer(.failure(.log(error))) }
                return fault
            }
        }
        // The records of one request are at fault, so the requests are appended one by one.
        var fault: LogError?
        for pending in group { fault = append([pending], noting: noting) ?? fault }
        return fault
    }

    private func append(_ records: [OutgoingRecord]) throws(LogError) -> [RecordPosition] {
        do throws(LogError) {
            return try openWriter().append(records)
        } catch {
            if !error.isOfRecords { self.writer = nil }
            throw error
        }
    }

    private func openWriter() throws(LogError) -> any LogWriter {
        if let writer { return writer }
        let writer = try log.writer()
        self.writer = writer
        return writer
    }

    private func answer(_ group: [PendingAppend], positions: [RecordPosition]) {
        var start = 0
        for pending in group {
            let end = start + pending.content.records.count
            pending.answer(.success(Array(positions[start..<end])))
            start = end
        }
    }
}

extension LogError {
    /// Whether the error concerns the records, not the log.
    fileprivate var isOfRecords: Bool {
        switch self {
        case .unknownTopic, .unknownPartition: true
        default: false
        }
    }
}

typealias PendingAppend = PendingRequest<AppendContent, [RecordPosition], AppendRefusal>

/// The records of one request.
struct AppendContent: GroupedContent {
    let records: [OutgoingRecord]
    let byteCount: Int
    var recordCount: Int { records.count }

    init(_ records: [OutgoingRecord]) {
        self.records = records
        byteCount = records.reduce(0) { $0 + $1.byteCount }
    }
}

extension OutgoingRecord {
    /// The bytes of its key, headers and value.
    fileprivate var byteCount: Int {
        headers.reduce((key?.count ?? 0) + (value?.count ?? 0)) { sum, header in
            sum + header.name.utf8.count + (header.value?.count ?? 0)
        }
    }
}
