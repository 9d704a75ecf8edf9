import ArgumentParser
import Foundation
import Inspection
import Streams
import Worker

// What commands print. What was asked for goes to standard output: text, a report about single things
// (`Report`: a table or JSON) or rows (`ReportTable`: four formats). What a reader should know beside it is a
// notice, and goes to standard error.
//
//     try BufferedOutput.print(LagReport(directories: ["data"], log: log, nowMilliseconds: now), as: .table)
//     Notice.write("no stores in data: run a worker first, or give --data")

/// Standard output, written in large pieces.
final class BufferedOutput {
    private var buffer: [UInt8] = []
    private let fileDescriptor: Int32
    private static let pieceBytes = 1 << 18

    /// The file descriptor stays the caller's.
    init(fileDescriptor: Int32 = STDOUT_FILENO) {
        self.fileDescriptor = fileDescriptor
    }

    func write(_ text: String) throws(CommandError) {
        buffer.append(contentsOf: text.utf8)
        if buffer.count >= Self.pieceBytes { try flush() }
    }

    /// Lets `body` append bytes, which are written now or later.
    func write(_ body: (inout [UInt8]) -> Void) throws(CommandError) {
        body(&buffer)
        if buffer.count >= Self.pieceBytes { try flush() }
    }

    /// Writes bytes, now or later.
    func write(bytes: [UInt8]) throws(CommandError) {
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.pieceBytes { try flush() }
    }

    /// Writes rows, now or later.
    func write(
        _ table: ReportTable, as format: DumpFormat, isRaw: Bool = false
    ) throws(CommandError) {
        try table.write(as: format, isRaw: isRaw, to: write(bytes:))
    }

    /// Writes everything now. To be called at the end.
    func flush() throws(CommandError) {
        let fault = buffer.withUnsafeBytes { StandardStream.write($0, to: fileDescriptor) }
        if let fault {
            guard fault != EPIPE else { throw .outputClosed }
            throw .failure("cannot write to standard output: \(String(cString: strerror(fault)))")
        }
        buffer.removeAll(keepingCapacity: true)
    }
}

extension BufferedOutput {
    /// Writes all of a command's output at once.
    static func print(_ text: String) throws(CommandError) {
        let output = BufferedOutput()
        try output.write(text)
        try output.flush()
    }

    static func print(_ report: some Report, as format: ReportFormat) throws(CommandError) {
        try print(report.text(format))
    }

    /// - Parameter emptyText: stands for a table without rows; nil: `no rows`.
    static func print(
        _ table: ReportTable, as format: DumpFormat, isRaw: @autoclosure () throws -> Bool = false,
        ifEmpty emptyText: String? = nil
    ) throws {
        let output = BufferedOutput()
        if let emptyText, format == .table, table.rows.isEmpty {
            try output.write(emptyText)
        } else {
            try output.write(table, as: format, isRaw: isRaw())
        }
        try output.flush()
    }
}

/// A line on standard error that a reader of the output should know of.
enum Notice {
    static func write(_ words: String) {
        StandardError.write(line: "weir: \(words)")
    }

    /// Shows how far a command is, on a terminal only. The next text replaces it, and an empty one removes it.
    static func show(progress words: String) {
        guard StandardError.isTerminal else { return }
        StandardError.show(String(words.prefix(StandardError.columns)))
    }
}

/// The formats of a report.
enum ReportFormat: String, CaseIterable {
    case table, json
}

/// What a command found, as text for people or as one JSON value.
protocol Report {
    /// The text for people, with its line ends.
    var table: String { get }
    func write(to json: inout JSONText)
}

extension Report {
    /// One JSON value in a line, without a line end.
    var json: String {
        var json = JSONText()
        write(to: &json)
        return json.text.withoutControlsInJSON
    }

    /// The text in a format, with its line ends.
    func text(_ format: ReportFormat) -> String {
        switch format {
        case .table: table
        case .json: json + "\n"
        }
    }
}

extension TextTable {
    /// The lines with their ends.
    var text: String { lines.map { $0 + "\n" }.joined() }
}

extension JSONText {
    /// Writes a member that is a string, or null.
    mutating func member(_ name: String, _ text: String?) {
        self.name(name)
        string(text)
    }

    /// Writes a member that is a number, or null.
    mutating func member(_ name: String, _ number: (some BinaryInteger)?) {
        self.name(name)
        if let number { raw("\(number)") } else { raw("null") }
    }

    mutating func member(_ name: String, _ isTrue: Bool) {
        self.name(name)
        raw(isTrue)
    }

    /// Writes a member that is an array of strings.
    mutating func member(_ name: String, _ texts: [String]) {
        self.name(name)
        array { json in for text in texts { json.string(text) } }
    }

    /// Writes a member that is an object; `body` writes its members.
    mutating func object(_ name: String, _ body: (inout JSONText) -> Void) {
        self.name(name)
        object(body)
    }

    /// Writes a member that is an array of objects; `body` writes the members of each.
    mutating func objects<Item>(
        _ name: String, _ items: some Sequence<Item>, _ body: (Item, inout JSONText) -> Void
    ) {
        self.name(name)
        objects(items, body)
    }

    /// Writes an array of objects; `body` writes the members of each.
    mutating func objects<Item>(
        _ items: some Sequence<Item>, _ body: (Item, inout JSONText) -> Void
    ) {
        array { json in
            for item in items { json.object { body(item, &$0) } }
        }
    }
}

/// The option of commands that print a report.
struct ReportFormatOptions: ParsableArguments {
    @Option(help: "table or json (WEIR_FORMAT; default: table).")
    var format: String?

    func chosen() throws(CommandError) -> ReportFormat {
        try Environment().format(format, default: .table)
    }
}

/// The option of commands that print rows.
struct DumpFormatOptions: ParsableArguments {
    @Option(help: "table, json, ndjson or csv (WEIR_FORMAT; default: table).")
    var format: String?

    func chosen() throws(CommandError) -> DumpFormat {
        try Environment().format(format, default: .table)
    }
}

/// Whether CSV has every text as it is.
struct RawOptions: ParsableArguments {
    @Flag(
        help: """
            In CSV: every text as it is. Else backslashes, control characters and those that nobody sees are \
            escaped, and an apostrophe stands before a text that a spreadsheet would run as a formula \
            (WEIR_RAW).
            """)
    var raw = false

    func isSet() throws(CommandError) -> Bool {
        try Environment().isSet("WEIR_RAW", option: raw)
    }
}
