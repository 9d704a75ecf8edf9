import ArgumentParser
import Engine
import EventLog
import Program
import Reports
import Streams
import Wording

struct ReadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "read",
        abstract: "Prints the records of a topic.",
        discussion: """
            Each record is a line that weir publish reads, with its partition and offset. If you publish the \
            line, you get the same record byte for byte. A value that JSON would change is printed as "text", \
            and a value that is not text as "base64".

            Passwords and receipts of store notifications are printed as "***", and the header weir_masked marks \
            the record. If you publish such a line, you get the masked record.
            """)

    @Option(help: "The topic.")
    var topic: String
    @Option(help: "Only this partition.")
    var partition: Int32?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Start at this offset, or at the first record from this time on.",
            discussion: "A time is \(LogTime.forms); digits alone mean an offset.",
            valueName: "offset|time"))
    var from: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Stop before this offset or time (default: the current end).",
            valueName: "offset|time"))
    var to: String?
    @Flag(help: "Keep printing new records until stopped.")
    var follow = false
    @OptionGroup var log: LogOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var masking: MaskOptions
    @Option(help: "ndjson or table (WEIR_FORMAT; default: ndjson).")
    var format: String?

    func run() throws {
        guard !follow || to == nil else {
            throw CommandError.usage("--follow and --to exclude each other: remove one")
        }
        let format = try Environment().format(format, default: RecordFormat.ndjson)
        let from = try from.map { try ReadLimit($0, option: "--from") }
        let to = try to.map { try ReadLimit($0, option: "--to") }
        switch (from, to) {
        case (.offset(let start), .offset(let end)) where end < start,
            (.time(let start), .time(let end)) where end < start:
            throw CommandError.usage(
                "--to is before --from, so the range is empty: correct one of them")
        default: break
        }
        let reader = try log.open(.existing, data).reader(topic: topic)
        var reading = try TopicReading(reader, partition: partition, from: from, to: to)
        if let doubt = from?.doubt(topic: topic, endOffset: reading.endOffset) {
            Console.write(doubt)
        }
        let output = BufferedOutput()
        let printer = try RecordPrinter(output, format: format, mask: masking.mask(topic: topic))
        try reading.readRange(printer.print)
        try output.flush()
        if follow { try reading.follow(printer.print, pause: output.flush) }
    }
}

enum RecordFormat: String, CaseIterable {
    /// The input format of `weir publish`.
    case ndjson
    /// A short line for people.
    case table
}

struct RecordPrinter {
    private let output: BufferedOutput
    private let format: RecordFormat
    private let mask: SecretMask?

    /// Without a mask, secrets are printed.
    init(_ output: BufferedOutput, format: RecordFormat, mask: SecretMask?) throws(CommandError) {
        self.output = output
        self.format = format
        self.mask = mask
        guard format == .table else { return }
        try output.write(Self.row(["partition", "offset", "timestamp", "key", "type", "value"]))
    }

    func print(_ record: RecordView) throws(CommandError) {
        let masked = mask?.masked(record)
        switch format {
        case .ndjson:
            try output.write { RecordLine.append(record, maskedValue: masked, to: &$0) }
        case .table:
            let value =
                masked.map { "(masked) " + $0.withUnsafeBytes { Self.readable($0, 91) } }
                ?? ErasedRecord(record).map { "(erased) \($0.explanation)" }
                ?? Self.readable(record.value, 100)
            let row = Self.row([
                "\(record.partition)", "\(record.offset)",
                UTC.text(milliseconds: record.timestampMilliseconds), Self.readable(record.key, 36),
                Self.readable(record.headers.first(named: "ce_type"), 28), value,
            ])
            try output.write(row)
        }
    }

    /// A line with partition and offset right-aligned, the other columns left-aligned.
    private static func row(_ cells: [String]) -> String {
        let padded = zip(cells, [9, 10, 24, 36, 20, 0]).enumerated().map { index, cell in
            let (text, width) = cell
            let padding = String(repeating: " ", count: max(0, width - text.unicodeScalars.count))
            return index < 2 ? padding + text : text + padding
        }
        return padded.joined(separator: "  ") + "\n"
    }

    /// The beginning of bytes as text; `-` for nil.
    private static func readable(_ bytes: UnsafeRawBufferPointer?, _ length: Int) -> String {
        guard let bytes else { return "-" }
        let beginning = String(decoding: bytes.prefix(length * 4), as: UTF8.self).escaped
        guard beginning.unicodeScalars.count > length else { return beginning }
        return String(String.UnicodeScalarView(beginning.unicodeScalars.prefix(length - 1))) + "…"
    }
}
