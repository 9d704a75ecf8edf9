import EventLog

/// Appends groups of records to a log and answers whoever waits for them.
///
/// `@unchecked Sendable`: only the appender's thread uses it, and the log that it was given.
final class AppendTurns: @unchecked Sendable {
    private let log: any LogBackend
    /// Nil after a fault that may be the writer's own.
    private var writer: (any LogWriter)?

    init(log: any LogBackend, writer: any LogWriter) {
        self.log = log
        self.writer = writer
    }

    /// Appends what several requests sent, and answers them; says what is wrong with the log.
    ///
    /// - Parameter noting: is told the same before anybody is answered, so that whoever was answered finds
    ///   the collector as ready as the answer was.
    func append(
        _ turn: [PendingAppend], noting: (LogError?) -> Void
    ) -> LogError? {
        do throws(LogError) {
            let positions = try append(turn.flatMap(\.content.records))
            noting(nil)
            answer(turn, positions: positions)
            return nil
        } catch {
            guard turn.count > 1, error.isOfRecords else {
                let fault = error.isOfRecords ? nil : error
                noting(fault)
                for pending in turn { pending.answer(.failure(.log(error))) }
                return fault
            }
        }
        // One request's records are at fault: they do not hold up the others'.
        var fault: LogError?
        for pending in turn { fault = append([pending], noting: noting) ?? fault }
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

    private func answer(_ turn: [PendingAppend], positions: [RecordPosition]) {
        var start = 0
        for pending in turn {
            let end = start + pending.content.records.count
            pending.answer(.success(Array(positions[start..<end])))
            start = end
        }
    }
}

extension LogError {
    /// Whether it is about the records that were to be appended, and not about the log.
    fileprivate var isOfRecords: Bool {
        switch self {
        case .unknownTopic, .unknownPartition: true
        default: false
        }
    }
}
