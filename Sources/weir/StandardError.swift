import Foundation
import Synchronization

/// Standard error: lines that stay and, at a terminal, one below them that is written over.
enum StandardError {
    /// What is written over just now; empty for nothing.
    private static let shown = Mutex("")

    /// Whether a person reads it at a terminal.
    static let isTerminal = isatty(STDERR_FILENO) == 1

    /// How many characters a line of the terminal has, at most 100.
    static var columns: Int {
        let most = 100
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return most
        }
        return min(most, Int(size.ws_col))
    }

    /// Writes a line that stays, above the one that is written over.
    static func write(line: String) {
        shown.withLock { shown in
            put(shown.isEmpty ? "\(line)\n" : "\r\u{1B}[K\(line)\n\(shown)")
        }
    }

    /// Writes over the last line; with an empty text, takes it away. To be called at a terminal only.
    static func show(_ text: String) {
        shown.withLock { shown in
            guard !text.isEmpty || !shown.isEmpty else { return }
            shown = text
            put("\r\u{1B}[K\(text)")
        }
    }

    private static func put(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}
