import Foundation
import Pipelines
import Synchronization

/// Standard error: lines that stay and, at a terminal, one below them that is written over. What cannot be
/// written is lost, and nothing else: nobody may read it any more.
package enum StandardError {
    /// What is written over just now; empty for nothing.
    private static let shown = Mutex("")

    /// Whether a person reads it at a terminal.
    package static let isTerminal = isatty(STDERR_FILENO) == 1

    /// How many characters a line of the terminal has, at most 100.
    package static var columns: Int {
        let most = 100
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return most
        }
        return min(most, Int(size.ws_col))
    }

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
