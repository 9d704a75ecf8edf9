import EventLog
import Foundation
import JSON
import Program
import Streams

/// Who acts: the holder of an operator's token, or a user of this machine.
package struct Operator: Equatable, Sendable {
    /// The name of the token, or `user NAME` for a command.
    package let name: String
    /// The id of the token; empty for a command.
    package let token: String

    package init(name: String, token: String) {
        self.name = name
        self.token = token
    }

    /// The user who runs this command.
    package static var ofCommand: Operator {
        Operator(name: "user \(NSUserName())", token: "")
    }
}

/// What operators did: `operator-log.ndjson` of a data directory. Each action has a line when it begins and one when it
/// ends. Lines are only appended, and each is durable before the next step.
package struct OperatorLog: Sendable {
    package static let fileName = "operator-log.ndjson"

    package enum Kind: String, Sendable {
        case requeue, retry, erase, reconcile
    }

    package struct Entry: Equatable, Sendable {
        package let id: String
        package let kind: Kind
        package let by: Operator
        /// The records, or the selected deliveries.
        package let subject: String
        package let begunMilliseconds: Int64
        /// Nil while the action runs, and after its process was killed.
        package fileprivate(set) var end: End?
    }

    package struct End: Equatable, Sendable {
        package let milliseconds: Int64
        package let isDone: Bool
        /// The numbers, or the reason of a failure.
        package let result: String
    }

    /// The first one is written. All of them are read.
    private let directories: [String]

    package init(directories: [String]) { self.directories = directories }

    // MARK: Reading

    /// All actions, the newest first, and the number of unreadable lines.
    package func entries() throws(CommandError) -> (entries: [Entry], damaged: Int) {
        var found = Lines()
        for directory in directories {
            let path = "\(directory)/\(Self.fileName)"
            guard FileManager.default.fileExists(atPath: path) else { continue }
            guard let bytes = FileManager.default.contents(atPath: path) else {
                throw .failure("cannot read \(path): grant this user read access")
            }
            found.add(bytes)
        }
        return (
            found.entries.values.sorted {
                ($0.begunMilliseconds, $0.id) > ($1.begunMilliseconds, $1.id)
            }, found.damaged
        )
    }

    /// The lines of one or several files.
    private struct Lines {
        var entries: [String: Entry] = [:]
        var damaged = 0

        mutating func add(_ bytes: Data) {
            guard let parser = JSONParser() else { return }
            for line in bytes.split(separator: UInt8(ascii: "\n")) where !add(line, parser) {
                damaged += 1
            }
        }

        /// False for a line that is not understood.
        private mutating func add(_ line: Data, _ parser: JSONParser) -> Bool {
            let value = Array(line).withUnsafeBytes { try? parser.parse($0) }
            func text(_ name: StaticString) -> String? {
                value?.member(name)?.string.map { String(decoding: $0, as: UTF8.self) }
            }
            guard value?.isObject == true, let id = text("id"),
                case .exact(let time)? = value?.member("time_ms")?.number?.asInteger
            else { return false }
            if let result = text("result"), let isDone = value?.member("done")?.boolean {
                guard entries[id] != nil else { return false }
                entries[id]?.end = End(milliseconds: time, isDone: isDone, result: result)
                return true
            }
            guard let kind = text("action").flatMap(Kind.init), let name = text("by"),
                let subject = text("subject"), entries[id] == nil
            else { return false }
            entries[id] = Entry(
                id: id, kind: kind, by: Operator(name: name, token: text("token") ?? ""),
                subject: subject, begunMilliseconds: time)
            return true
        }
    }

    // MARK: Writing

    /// An action that has begun.
    private struct Begun {
        let path: String
        let id: String
    }

    /// Does something once: between the two lines of an action.
    ///
    /// - Parameters:
    ///   - id: of the action. If the log has it already, nothing is done.
    ///   - body: returns the result in words. Its error is recorded and thrown.
    /// - Returns: false if an action with this id began earlier.
    @discardableResult
    package func record(
        _ kind: Kind, of subject: String, by user: Operator, id: String = UUID().uuidString,
        _ body: () throws -> String
    ) throws -> Bool {
        guard let begun = try begin(kind, subject, user, id) else { return false }
        do {
            try end(begun, isDone: true, try body())
        } catch {
            try end(begun, isDone: false, CommandError(error)?.explanation ?? "\(error)")
            throw error
        }
        return true
    }

    private func begin(
        _ kind: Kind, _ subject: String, _ user: Operator, _ id: String
    ) throws(CommandError) -> Begun? {
        let path = "\(directories.first ?? ".")/\(Self.fileName)"
        let file = try OperatorLogFile(path)
        guard try !entries().entries.contains(where: { $0.id == id }) else { return nil }
        try file.append { json in
            json.member("id", id)
            json.member("time_ms", WallClock.milliseconds)
            json.member("action", kind.rawValue)
            json.member("by", user.name)
            json.member("token", user.token)
            json.member("subject", subject)
        }
        return Begun(path: path, id: id)
    }

    private func end(_ begun: Begun, isDone: Bool, _ result: String) throws(CommandError) {
        try OperatorLogFile(begun.path).append { json in
            json.member("id", begun.id)
            json.member("time_ms", WallClock.milliseconds)
            json.member("done", isDone)
            json.member("result", result)
        }
    }
}

/// The open file, locked against other writers until it is released.
private final class OperatorLogFile {
    private let path: String
    private let descriptor: Int32

    init(_ path: String) throws(CommandError) {
        self.path = path
        descriptor = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0o666)
        guard descriptor >= 0, flock(descriptor, LOCK_EX) == 0 else { throw fault }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    func append(_ members: (inout JSONText) -> Void) throws(CommandError) {
        var json = JSONText()
        json.object(members)
        // A line without its end is the remains of a crash.
        let size = lseek(descriptor, 0, SEEK_END)
        var last = UInt8(ascii: "\n")
        if size > 0 { _ = pread(descriptor, &last, 1, size - 1) }
        let isCut = last != UInt8(ascii: "\n")
        let line = Array("\(isCut ? "\n" : "")\(json.text)\n".utf8)
        guard write(descriptor, line, line.count) == line.count, fsync(descriptor) == 0 else {
            throw fault
        }
    }

    private var fault: CommandError {
        .failure(
            "cannot write \(path), the log of operators' actions: \(String(cString: strerror(errno))). Free space or grant write access, then check what was done"
        )
    }
}
