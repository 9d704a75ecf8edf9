import ArgumentParser
import Engine
import Foundation
import JSON
import Program
import Reports
import Streams
import Wording

// The output of commands. Results go to standard output: text, a report about single things (`Report`: a table or JSON)
// or rows (`ReportTable`: four formats). Notices for the reader go to standard error.
//
//     try BufferedOutput.print(LagReport(directories: ["data"], log: log, nowMilliseconds: now), as: .table)
//     Console.write("no stores in data: run a worker first, or give --data")

/// Standard output, written in large pieces.
final class BufferedOutput {
    private var buffer: [UInt8] = []
    private let fileDescriptor: Int32
    private static let pieceBytes = 1 << 18

    /// The caller keeps ownership of the file descriptor.
    init(fileDescriptor: Int32 = STDOUT_FILENO) {
        self.fileDescriptor = fileDescriptor
    }

    func write(_ text: String) throws(CommandError) {
        try write { $0 += text.utf8 }
    }

    /// Lets `body` append bytes; they may be written later.
    func write(_ body: (inout [UInt8]) -> Void) throws(CommandError) {
        body(&buffer)
        if buffer.count >= Self.pieceBytes { try flush() }
    }

    func write(bytes: [UInt8]) throws(CommandError) {
        try write { $0 += bytes }
    }

    func write(
        _ table: ReportTable, as format: DumpFormat, isRaw: Bool = false
    ) throws(CommandError) {
        try table.write(as: format, isRaw: isRaw, to: write(bytes:))
    }

    /// Writes a table for people, fitted to the terminal.
    func write(shown table: ReportTable) throws(CommandError) {
        let lines = table.lines(within: StandardStream.output.terminalColumns)
        try write(lines.map { $0 + "\n" }.joined())
    }

    /// Writes all buffered bytes. Must be called at the end.
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
    /// Lets `body` write rows to standard output. If it fails after the first row, the last line reports the error, so
    /// that incomplete output is recognisable.
    static func writing<Value>(
        as format: DumpFormat, fileDescriptor: Int32 = STDOUT_FILENO,
        _ body: (_ sink: ([UInt8]) throws -> Void) throws -> Value
    ) throws -> Value {
        let output = BufferedOutput(fileDescriptor: fileDescriptor)
        var hasBegun = false
        do {
            let value = try body { piece in
                hasBegun = hasBegun || !piece.isEmpty
                try output.write(bytes: piece)
            }
            try output.flush()
            return value
        } catch {
            // The output itself failed, so the error line would fail too.
            let known = CommandError(error)
            if hasBegun, known == nil || known?.explanation != nil {
                let fault = known?.explanation ?? "\(error)"
                try? output.write(bytes: format.incompleteEnd(fault))
                try? output.flush()
            }
            throw error
        }
    }

    static func print(_ text: String) throws(CommandError) {
        let output = BufferedOutput()
        try output.write(text)
        try output.flush()
    }

    static func print(_ report: some Report, as format: ReportFormat) throws(CommandError) {
        try print(report.text(format))
    }

    /// - Parameter emptyText: replaces a table without rows; nil: `no rows`.
    static func print(
        _ table: ReportTable, as format: DumpFormat, isRaw: @autoclosure () throws -> Bool = false,
        ifEmpty emptyText: String? = nil
    ) throws {
        let output = BufferedOutput()
        if let emptyText, format == .table, table.rows.isEmpty {
            try output.write(emptyText)
        } else if format == .table, StandardStream.output.terminalColumns != nil {
            try output.write(shown: table)
        } else {
            try output.write(table, as: format, isRaw: isRaw())
        }
        try output.flush()
    }
}

/// Notices for the reader of the output, on standard error.
enum Console {
    static func write(_ explanation: String) {
        StandardError.write(line: "weir: \(explanation)")
    }

    /// Reports that a limited list may have more rows.
    static func writeIfMore(than count: Int, limit: Int) {
        if count >= limit {
            write("the first \(limit) are shown: give a larger --limit to see more")
        }
    }

    /// Runs `body`, and removes its progress line.
    static func removingProgress<Value>(_ body: () throws -> Value) rethrows -> Value {
        defer { show(progress: "") }
        return try body()
    }

    /// Shows the progress of a command, on a terminal only. The next text replaces it, and an empty one removes it.
    static func show(progress explanation: String) {
        guard StandardError.isTerminal else { return }
        StandardError.show(String(explanation.prefix(StandardError.columns)))
    }
}

enum ReportFormat: String, CaseIterable {
    case table, json
}

/// The result of a command, as text for people or as one JSON value.
protocol Report {
    /// The text for people, including line ends.
    var table: String { get }
    func write(to json: inout JSONText)
}

extension Report {
    /// One JSON value on one line, without a line end.
    var json: String {
        var json = JSONText()
        write(to: &json)
        return json.text.withoutControlsInJSON
    }

    func text(_ format: ReportFormat) -> String {
        switch format {
        case .table: table
        case .json: json + "\n"
        }
    }
}

extension TextTable {
    /// The lines, fitted to the terminal.
    var shownLines: [String] { lines(within: StandardStream.output.terminalColumns) }

    var text: String { shownLines.map { $0 + "\n" }.joined() }
}

struct ReportFormatOptions: ParsableArguments {
    @Option(help: "table or json (WEIR_FORMAT; default: table).")
    var format: String?

    func chosen() throws(UsageError) -> ReportFormat {
        try Environment().format(format, default: .table)
    }
}

struct DumpFormatOptions: ParsableArguments {
    @Option(help: "table, json, ndjson or csv (WEIR_FORMAT; default: table).")
    var format: String?

    func chosen() throws(UsageError) -> DumpFormat {
        try Environment().format(format, default: .table)
    }
}

/// Whether CSV texts are written unchanged.
struct RawOptions: ParsableArguments {
    @Flag(
        help: """
            CSV: prints every text unchanged. By default, Weir escapes backslashes, control characters and \
            invisible characters, and puts an apostrophe before a text that a spreadsheet would run as a formula \
            (WEIR_RAW).
            """)
    var raw = false

    func isSet() throws(UsageError) -> Bool {
        try Environment().isSet("WEIR_RAW", option: raw)
    }
}
