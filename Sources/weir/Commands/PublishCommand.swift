import ArgumentParser
import Engine
import EventLog
import Foundation
import Program

struct PublishCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Puts records from NDJSON into a topic.",
        discussion: """
            A line is {"key", "timestamp_ms"?, "headers"?, "value": any JSON | "text": string | \
            "base64": string, "partition"?}. A JSON value is published as the very bytes that stand \
            in the file; without a value the record is a tombstone. Bytes that are no text go as \
            "key_base64", and as {"base64": string} in a header. Ends with 0 once everything is on \
            disk; a line that cannot be read ends it with 1, what stands before it is published.
            """)

    @Option(help: "The topic.")
    var topic: String
    @OptionGroup var log: LogOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var topics: TopicsOptions
    @Argument(help: "A file of NDJSON; - or none: standard input.")
    var file: String?

    func run() throws {
        let lines = try LineReader(path: file)
        let log = try openLog()
        var publisher = Publisher(
            topic: try existingTopic(in: log), writer: try log.writer(), address: log.address)
        publisher.onProgress = { Console.show(progress: "published \($0) records") }
        do {
            // What is written over goes before anything that stays is written.
            defer { Console.show(progress: "") }
            try publisher.publish(lines)
        }
        StandardError.write(
            line: "published \(publisher.published) records to \(topic) in \(log.address)")
    }

    /// Opens the log. A missing log is created only for a topic that is described.
    private func openLog() throws -> any LogBackend {
        do {
            return try log.open(.existing, dataDirectories: data.directories)
        } catch LogError.noLog(let address), LogError.emptyLog(let address) {
            _ = try topics.directory.topic(topic, missingFrom: address)
            return try log.open(.create, dataDirectories: data.directories)
        }
    }

    private func existingTopic(in log: any LogBackend) throws -> TopicDescription {
        if let found = try log.topics().first(where: { $0.name == topic }) { return found }
        let described = try topics.directory.topic(topic, missingFrom: log.address)
        try log.create(described)
        guard let created = try log.topics().first(where: { $0.name == topic }) else {
            throw LogError.unknownTopic(topic, address: log.address)
        }
        return created
    }
}

/// Appends the records of NDJSON lines to a topic, many in a transaction.
struct Publisher {
    private let topic: TopicDescription
    private let writer: any LogWriter
    private let address: String
    private var batch: [OutgoingRecord] = []
    private var batchBytes = 0

    private(set) var published = 0
    /// Called after each transaction with the number of durable records.
    var onProgress: (Int) -> Void = { _ in }

    private static let batchRecords = 10_000
    private static let batchBytes = 16 << 20

    init(topic: TopicDescription, writer: any LogWriter, address: String) {
        self.topic = topic
        self.writer = writer
        self.address = address
    }

    /// Publishes all lines of a file. After an error the records of the lines before it are
    /// durable.
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
                    "\(lines.name):\(lines.lineNumber): \(error.explanation) "
                        + "(\(published) records before it are in \(address))")
            }
            if batch.count >= Self.batchRecords || batchBytes >= Self.batchBytes { try append() }
        }
        try append()
    }

    /// The next line. When the file cannot be read, the records before are made durable first.
    private mutating func next(_ lines: LineReader) throws(CommandError) -> UnsafeRawBufferPointer?
    {
        do throws(CommandError) {
            return try lines.next()
        } catch {
            try append()
            throw .failure(
                "\(error.explanation ?? lines.name) (\(published) records before it are in \(address))"
            )
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

final class LineReader {
    /// The number of the last line that was read, from 1.
    private(set) var lineNumber = 0
    let name: String

    private let file: FileHandle
    private var buffer: UnsafeMutableRawBufferPointer
    private var unread = 0..<0
    private var isAtEnd = false

    private static let pieceBytes = 1 << 20
    private static let longestLineBytes = 64 << 20

    /// Opens a file; `-` and nil stand for standard input.
    init(path: String?) throws(CommandError) {
        if let path, path != "-" {
            guard let file = FileHandle(forReadingAtPath: path) else {
                throw .failure("cannot read \(path): give a file that is there and readable")
            }
            name = path
            self.file = file
        } else {
            name = "standard input"
            file = .standardInput
        }
        buffer = .allocate(byteCount: 2 * Self.pieceBytes, alignment: 16)
    }

    deinit {
        buffer.deallocate()
    }

    /// The next line without its end, valid until the next call; nil at the end of the file.
    func next() throws(CommandError) -> UnsafeRawBufferPointer? {
        var searched = unread.lowerBound
        while true {
            if let end = newline(from: searched) {
                defer { unread = end + 1..<unread.upperBound }
                return line(unread.lowerBound..<end)
            }
            if isAtEnd {
                guard !unread.isEmpty else { return nil }
                defer { unread = unread.upperBound..<unread.upperBound }
                return line(unread)
            }
            guard unread.count <= Self.longestLineBytes else {
                throw .failure("\(name):\(lineNumber + 1): longer than 64 MiB: split the record")
            }
            let known = unread.count
            makeRoom()
            searched = unread.lowerBound + known
            try readOn()
        }
    }

    private func line(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        lineNumber += 1
        return UnsafeRawBufferPointer(rebasing: buffer[range])
    }

    private func newline(from start: Int) -> Int? {
        guard start < unread.upperBound, let base = buffer.baseAddress,
            let found = memchr(base + start, 0x0A, unread.upperBound - start)
        else { return nil }
        return UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }

    /// Moves the unread bytes to the front; to a larger buffer when there is no room for a piece.
    private func makeRoom() {
        let rest = UnsafeRawBufferPointer(rebasing: buffer[unread])
        if unread.count + Self.pieceBytes > buffer.count {
            let larger = UnsafeMutableRawBufferPointer.allocate(
                byteCount: buffer.count * 2, alignment: 16)
            larger.copyMemory(from: rest)
            buffer.deallocate()
            buffer = larger
        } else if unread.lowerBound > 0, let base = buffer.baseAddress {
            memmove(base, base + unread.lowerBound, unread.count)
        }
        unread = 0..<unread.count
    }

    private func readOn() throws(CommandError) {
        while true {
            let count = read(
                file.fileDescriptor, buffer.baseAddress.map { $0 + unread.upperBound },
                buffer.count - unread.upperBound)
            if count < 0 {
                if errno == EINTR { continue }
                throw .failure("cannot read \(name): \(String(cString: strerror(errno)))")
            }
            isAtEnd = count == 0
            unread = unread.lowerBound..<unread.upperBound + count
            return
        }
    }
}
