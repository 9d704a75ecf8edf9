import Foundation
import Logging
import Synchronization
import Wording

/// Standard output and standard error. Everything that the programs print goes through `write`: a reader that
/// went away, a full disk or a closed descriptor is an answer here, and never ends a process.
package enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// To be called by every program before anything else.
    package static func prepare() {
        FileAccess.begin()
        // A reader that went away is seen as an error of the write, and so is a limit on the size of files.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        // A number that is free is given to the next file or connection, and what is meant for standard error
        // would be written there. The wrong direction keeps writing an error, as it is when it is closed.
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", mode)
        }
    }

    /// Writes text; returns the error number, or nil when all of it was written.
    @discardableResult
    package func write(_ text: String) -> Int32? {
        var text = text
        return text.withUTF8 { Self.write(UnsafeRawBufferPointer($0), to: rawValue) }
    }

    /// How many characters a line of the terminal has: by `COLUMNS`, else as the terminal says; nil where it is none,
    /// or says nothing.
    package var terminalColumns: Int? {
        guard isatty(rawValue) == 1 else { return nil }
        if let columns = Environment()["COLUMNS"].flatMap({ Int($0) }), columns > 0 {
            return columns
        }
        var size = winsize()
        guard ioctl(rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Writes bytes to a descriptor; returns the error number, or nil when all of them were written.
    package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32? {
        var rest = bytes
        while !rest.isEmpty {
            let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
            if count > 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
                continue
            }
            switch count == 0 ? EIO : errno {
            case EINTR: continue
            case EAGAIN:
                // Whoever shares the stream may have set it not to block.
                var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&room, 1, -1)
            case let fault: return fault
            }
        }
        return nil
    }
}

/// Standard error: lines that stay and, at a terminal, one below them that is written over. What cannot be
/// written is lost, and nothing else: nobody may read it any more.
package enum StandardError {
    /// What is written over just now; empty for nothing.
    private static let shown = Mutex("")

    /// Whether a person reads it at a terminal.
    package static let isTerminal = isatty(STDERR_FILENO) == 1

    /// How many characters a line of the terminal has, at most 100.
    package static var columns: Int { min(100, StandardStream.error.terminalColumns ?? .max) }

    /// Writes a line that stays, above the one that is written over. Control characters in it are escaped.
    package static func write(line: String) {
        let line = line.withoutControls
        shown.withLock { shown in
            _ = StandardStream.error.write(
                shown.isEmpty ? "\(line)\n" : "\r\u{1B}[K\(line)\n\(shown)")
        }
    }

    /// Writes over the last line; with an empty text, takes it away. To be called at a terminal only.
    package static func show(_ text: String) {
        let text = text.withoutControls
        shown.withLock { shown in
            guard !text.isEmpty || !shown.isEmpty else { return }
            shown = text
            StandardStream.error.write("\r\u{1B}[K\(text)")
        }
    }
}

/// Writes what the programs log to standard error, a line each.
package struct ConsoleLogHandler: LogHandler {
    let label: String
    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?

    /// Writes what is of this level or above.
    package init(label: String, level: Logger.Level) {
        self.label = label
        logLevel = level
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let now = Date.now.formatted(.iso8601)
        let all = metadata.merging(event.metadata ?? [:]) { _, own in own }
        let pairs = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        StandardError.write(line: "\(now) \(event.level) \(label): \(event.message)\(pairs)")
    }
}
