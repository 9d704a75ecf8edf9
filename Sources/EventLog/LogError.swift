/// An error of an event log. The text contains the operation, the subject and the remedy.
package enum LogError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The address is not of the form `sqlite:PATH` or `kafka://HOST:PORT[,HOST:PORT]`.
    case badAddress(String)
    case noLog(address: String)
    /// The file at this address is empty.
    case emptyLog(address: String)
    /// The file at this address is not a log.
    case notALog(address: String, detail: String)
    /// The file does not hold the bytes that were written to it.
    case damaged(address: String, detail: String)
    /// A record does not match its checksum.
    case damagedRecord(TopicPartition, offset: Int64, address: String)
    /// The log was written by a newer version.
    case newerVersion(address: String, found: Int, supported: Int)
    case unknownTopic(String, address: String)
    case unknownPartition(TopicPartition, partitionCount: Int32)
    /// The operating system refused; the detail contains the remedy.
    case disk(operation: String, address: String, detail: String)
    /// The log's file, or a companion file of SQLite, was moved, removed or replaced while open.
    case moved(operation: String, address: String, detail: String)
    /// Other processes kept the log locked for longer than the timeout.
    case busy(operation: String, address: String)
    /// A setting is unknown or not allowed; the text contains its name and place.
    case badSetting(String, detail: String)
    /// The log no longer holds the offset: it was trimmed or truncated.
    case offsetGone(TopicPartition, offset: Int64)
    /// A batch of records does not match its checksum or does not decompress.
    case corrupt(TopicPartition, offset: Int64, address: String)
    /// An archive does not fit its source log.
    case badArchive(address: String, detail: String)
    /// The group did not accept offsets: a new store would publish again.
    case notTaken(topic: String, address: String, detail: String)
    /// Another process has replaced this one.
    case fenced(address: String, detail: String)
    /// The log does not answer now; a retry may succeed.
    case unavailable(operation: String, address: String, detail: String)
    case backend(operation: String, address: String, detail: String)

    package var description: String {
        switch self {
        case .badAddress(let text):
            "log address '\(text)' is invalid: use sqlite:PATH or kafka://HOST:PORT"
                + (text.contains("@") ? "; put user name and password in kafka.yaml" : "")
        case .noLog(let address):
            "no log at \(address): if the path is right, publish to it first (weir publish); otherwise give --data or --log"
        case .emptyLog(let address):
            "the file of \(address) is empty: if it contained a log, restore it (ops/runbooks/damaged-file.md); otherwise publish to it first (weir publish), or give --log"
        case .notALog(let address, let detail):
            "\(address) is not a log (\(detail)): give --log the file that weir publish writes"
        case .damaged(let address, let detail):
            "\(address) is damaged (\(detail)), so its content cannot be trusted: to restore it, see ops/runbooks/damaged-file.md"
        case .damagedRecord(let partition, let offset, let address):
            "the record at offset \(offset) of \(partition) in \(address) is damaged: its checksum is wrong, and it was not read; to restore it, see ops/runbooks/damaged-file.md"
        case .newerVersion(let address, let found, let supported):
            "\(address) has format \(found), but this program knows only \(supported): use the newer program"
        case .unknownTopic(let topic, let address):
            "no topic '\(topic)' in \(address): create it with weir topics apply"
        case .unknownPartition(let partition, let count):
            "no partition \(partition): the topic has \(count), numbered from 0"
        case .disk(let operation, let address, let detail),
            .moved(let operation, let address, let detail):
            "cannot \(operation) \(address): \(detail)"
        case .busy(let operation, let address):
            "cannot \(operation) \(address): other processes keep it locked; try again"
        case .badSetting(let subject, let detail): "\(subject) \(detail)"
        case .offsetGone(let partition, let offset):
            "\(partition) no longer contains offset \(offset): weir lag shows the offsets that it contains"
        case .corrupt(let partition, let offset, let address):
            "\(partition) contains a damaged batch of records at offset \(offset) in \(address), which was not read: check the disk of the leader, and make an intact replica the leader"
        case .badArchive(let address, let detail): "the archive \(address) \(detail)"
        case .notTaken(let topic, let address, let detail):
            "all records are folded and published, but the group's offsets of '\(topic)' in \(address) were not committed (\(detail)), so a new store would publish again: stop the members of the group, wait for session.timeout.ms, then restart"
        case .fenced(let address, let detail):
            "another process has replaced this one in \(address) (\(detail)): stop one of them, or give each its own --member name"
        case .unavailable(let operation, let address, let detail),
            .backend(let operation, let address, let detail):
            "cannot \(operation) \(address): \(detail)"
        }
    }
}
