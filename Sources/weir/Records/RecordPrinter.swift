import EventLog
import Inspection
import Streams

/// The formats of records.
enum RecordFormat: String, CaseIterable {
    /// A line that `weir publish` reads.
    case ndjson
    /// A short line for people.
    case table
}

struct RecordPrinter {
    private let output: BufferedOutput
    private let format: RecordFormat
    private let mask: SecretMask?

    /// Without a mask, secrets are printed.
    init(
        _ output: BufferedOutput, format: RecordFormat, mask: SecretMask?
    ) throws(CommandError) {
        self.output = output
        self.format = format
        self.mask = mask
        guard format == .table else { return }
        try output.write(
            Self.row("partition", "offset", "timestamp", "key", "type", "value") + "\n")
    }

    func print(_ record: RecordView) throws(CommandError) {
        let masked = mask?.masked(record)
        switch format {
        case .ndjson:
            try output.write { RecordLine.append(record, maskedValue: masked, to: &$0) }
        case .table:
            let type = record.headers.first(named: "ce_type")
            let value =
                masked.map { "(masked) " + $0.withUnsafeBytes { Self.words($0, 91) } }
                ?? Self.words(record.value, 100)
            let row = Self.row(
                "\(record.partition)", "\(record.offset)",
                UTC.text(milliseconds: record.timestampMilliseconds), Self.words(record.key, 36),
                Self.words(type, 28), value)
            try output.write(row + "\n")
        }
    }

    private static func row(
        _ partition: String, _ offset: String, _ timestamp: String, _ key: String, _ type: String,
        _ value: String
    ) -> String {
        [
            padded(partition, 9, toTheRight: true), padded(offset, 10, toTheRight: true),
            padded(timestamp, 24), padded(key, 36), padded(type, 20), value,
        ].joined(separator: "  ")
    }

    private static func padded(_ text: String, _ width: Int, toTheRight: Bool = false) -> String {
        let padding = String(repeating: " ", count: max(0, width - text.unicodeScalars.count))
        return toTheRight ? padding + text : text + padding
    }

    /// The beginning of bytes as text; `-` for none.
    private static func words(_ bytes: UnsafeRawBufferPointer?, _ length: Int) -> String {
        guard let bytes else { return "-" }
        let beginning = String(decoding: bytes.prefix(length * 4), as: UTF8.self).escaped
        guard beginning.unicodeScalars.count > length else { return beginning }
        return String(String.UnicodeScalarView(beginning.unicodeScalars.prefix(length - 1))) + "…"
    }
}
