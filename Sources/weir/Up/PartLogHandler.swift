import Foundation
import Inspection
import Logging
import Streams

/// Writes what the parts of `weir up` log, a line each, above the line that is written over.
struct PartLogHandler: LogHandler {
    let label: String
    var logLevel = Logger.Level.warning
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(label: String) {
        self.label = label
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let now = UTC.text(milliseconds: Int64(Date().timeIntervalSince1970) * 1000)
        let all = metadata.merging(event.metadata ?? [:]) { _, own in own }
        let pairs = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        let line = "\(now) \(event.level) \(label): \(event.message)\(pairs)"
        StandardError.write(line: line.withoutControls)
    }
}
