import Foundation
import Logging
import Streams

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
        let now = UTC.text(milliseconds: Int64(Date().timeIntervalSince1970) * 1000)
        let all = metadata.merging(event.metadata ?? [:]) { _, own in own }
        let pairs = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        StandardError.write(line: "\(now) \(event.level) \(label): \(event.message)\(pairs)")
    }
}
