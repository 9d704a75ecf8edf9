import EventLog

/// Appends the records of NDJSON lines to a topic, many in a transaction.
struct Publisher {
    private let topic: TopicDescription
    private let writer: any LogWriter
    private let address: String
    private var batch: [OutgoingRecord] = []
    private var batchBytes = 0

    /// Number of records that are durable.
    private(set) var published = 0
    /// Is told how many records are durable, after each transaction.
    var onProgress: (Int) -> Void = { _ in }

    private static let batchRecords = 10_000
    private static let batchBytes = 16 << 20

    init(topic: TopicDescription, writer: any LogWriter, address: String) {
        self.topic = topic
        self.writer = writer
        self.address = address
    }

    /// Publishes all lines of a file. On an error the records of the lines before are durable.
    mutating func publish(_ lines: LineReader) throws(CommandError) {
        while let line = try next(lines) {
            guard line.contains(where: { $0 > 0x20 }) else { continue }
            do throws(RecordLine.Fault) {
                let record = try RecordLine.record(
                    line, topic: topic.name, partitionCount: topic.partitionCount)
                batch.append(record)
                batchBytes += line.count
            } catch {
                try append()
                throw .failure(
                    "\(lines.name):\(lines.lineNumber): \(error.words) "
                        + "(\(published) records before it are in \(address))")
            }
            if batch.count >= Self.batchRecords || batchBytes >= Self.batchBytes { try append() }
        }
        try append()
    }

    /// The next line; when the file cannot be read on, what was read before is made durable.
    private mutating func next(_ lines: LineReader) throws(CommandError) -> UnsafeRawBufferPointer?
    {
        do throws(CommandError) {
            return try lines.next()
        } catch {
            try append()
            throw .failure(
                "\(error.words ?? lines.name) (\(published) records before it are in \(address))")
        }
    }

    private mutating func append() throws(CommandError) {
        guard !batch.isEmpty else { return }
        do throws(LogError) {
            try writer.append(batch)
        } catch {
            throw .failure("\(error) (\(published) records before are in \(address))")
        }
        published += batch.count
        batch.removeAll(keepingCapacity: true)
        batchBytes = 0
        onProgress(published)
    }
}
