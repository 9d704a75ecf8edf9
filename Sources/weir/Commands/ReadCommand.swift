import ArgumentParser
import EventLog

/// `weir read`
struct ReadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "read",
        abstract: "Prints the records of a topic.",
        discussion: """
            Each record is a line that weir publish reads, with its partition and offset: publishing \
            it gives the same record again, byte for byte. A value that would not come out the same \
            as JSON is printed as "text", one that is no text as "base64".

            Passwords and receipts of store notifications are printed as "***", and a header \
            weir_masked says so; publishing such a line gives the masked record.
            """)

    @Option(help: "The topic.")
    var topic: String
    @Option(help: "Only this partition.")
    var partition: Int32?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "From this offset on, or from the first record of this time on.",
            discussion: "A time is \(LogTime.forms); digits alone are an offset.",
            valueName: "offset|time"))
    var from: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Up to this offset or time, without it (default: what is there now).",
            valueName: "offset|time"))
    var to: String?
    @Flag(help: "Go on with what is appended, until it is stopped.")
    var follow = false
    @OptionGroup var log: LogOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var masking: MaskOptions
    @Option(help: "ndjson or table (WEIR_FORMAT; default: ndjson).")
    var format: String?

    func run() throws {
        guard !follow || to == nil else {
            throw CommandError.usage("--follow has no end: leave --to out")
        }
        let format = try Environment().format(format, default: RecordFormat.ndjson)
        let from = try from.map { try ReadLimit($0, option: "--from") }
        let to = try to.map { try ReadLimit($0, option: "--to") }
        switch (from, to) {
        case (.offset(let start), .offset(let end)) where end < start,
            (.time(let start), .time(let end)) where end < start:
            throw CommandError.usage("--to lies before --from: nothing lies between")
        default: break
        }
        let log = try log.open(.existing, dataDirectories: data.directories)
        var reading = try TopicReading(
            log.reader(topic: topic), partition: partition, from: from, to: to)
        let output = BufferedOutput()
        let printer = try RecordPrinter(
            output, format: format, mask: masking.mask(topic: topic))
        try reading.readStretch(printer.print)
        try output.flush()
        if follow { try reading.follow(printer.print, pause: output.flush) }
    }
}
