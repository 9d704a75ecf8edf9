import Foundation
import Logging
import Synchronization
import Wording

/// Standard output and standard error. Programs print everything through `write`: a closed pipe, a full disk or a
/// closed descriptor is a return value here, and never ends a process.
package enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// Every program calls this first.
    package static func prepare() {
        FileAccess.begin()
        // A closed pipe, or a limit on the size of files, becomes an error of the write.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        // The system gives a free number to the next file or connection, which would then receive the text for
        // standard error. With the wrong direction, writing stays an error, as for a closed descriptor.
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", mode)
        }
    }

    /// Writes text; returns the error number, or nil if everything was written.
    @discardableResult
    package func write(_ text: String) -> Int32? {
        var text = text
        return text.withUTF8 { Self.write(UnsafeRawBufferPointer($0), to: rawValue) }
    }

    /// The characters per line of the terminal, from `COLUMNS` or the terminal's size; nil without a terminal or a
    /// known size.
    package var terminalColumns: Int? {
        guard isatty(rawValue) == 1 else { return nil }
        if let columns = Environment()["COLUMNS"].flatMap({ Int($0) }), columns > 0 {
            return columns
        }
        var size = winsize()
        guard ioctl(rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Writes bytes to a descriptor; returns the error number, or nil if all of them were written.
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
                // Another process that shares the stream may have made it non-blocking.
                var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&room, 1, -1)
            case let fault: return fault
            }
        }
        return nil
    }
}

/// Standard error: lines that stay and, at a terminal, a status line below them. Failed writes are ignored: the
/// reader may have gone.
package enum StandardError {
    /// The current status line, or empty.
    private static let shown = Mutex("")

    /// Whether it is a terminal.
    package static let isTerminal = isatty(STDERR_FILENO) == 1

    /// The characters per line of the terminal, at most 100.
    package static var columns: Int { min(100, StandardStream.error.terminalColumns ?? .max) }

    /// Writes a line that stays, above the status line. Control characters in it are escaped.
    package static func write(line: String) {
        let line = line.withoutControls
        shown.withLock { shown in
            _ = StandardStream.error.write(
                shown.isEmpty ? "\(line)\n" : "\r\u{1B}[K\(line)\n\(shown)")
        }
    }

    /// Replaces the status line; an empty text removes it. Requires a terminal.
    package static func show(_ text: String) {
        let text = text.withoutControls
        shown.withLock { shown in
            guard !text.isEmpty || !shown.isEmpty else { return }
            shown = text
            StandardStream.error.write("\r\u{1B}[K\(text)")
        }
    }
}

/// Writes log messages to standard error, a line each.
package struct ConsoleLogHandler: LogHandler {
    let label: String
    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?

    /// Writes messages of this level or above.
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
