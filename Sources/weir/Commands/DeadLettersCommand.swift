import ArgumentParser
import Engine
import EventLog
import Foundation
import History
import Program
import Reports
import Store
import Streams
import Wording

struct DeadLettersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters",
        abstract: "Lists and shows rejected records, and publishes them again.",
        discussion: """
            Stores keep every rejected record with its bytes and the reason. First correct the cause, for \
            example a model, a secret or an old version of Weir. Then publish the records again:

              weir dead-letters list --reason missing_field --since 7d
              weir dead-letters show bids/2/81720
              weir dead-letters requeue --topic bids --reason missing_field --dry-run
              weir dead-letters requeue --topic bids --reason missing_field

            docs/guides/handle-dead-letters.md explains how requeued records count.
            """,
        subcommands: [
            DeadLettersListCommand.self, DeadLettersShowCommand.self,
            DeadLettersRequeueCommand.self,
        ])
}

struct DeadLettersListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists rejected records, by topic, partition and offset.",
        discussion: """
            Use --reason untrusted and --reason conflict to list untrusted records and conflicts. bytes is the \
            length of the value; it is empty if the record was too large. origin is the original of a requeued \
            record.

              weir dead-letters list
              weir dead-letters list --where type=openrtb.win --limit 20 --format json
            """)

    @OptionGroup var selection: DeadLetterOptions
    @OptionGroup var times: TimeOptions
    @OptionGroup var data: DataOptions
    @Option(help: "The maximum number of records.")
    var limit = 100
    @OptionGroup var format: DumpFormatOptions

    func run() throws {
        let format = try format.chosen()
        try requirePositive(limit: limit)
        let letters = try data.deadLetters(selection.query(times), limit: limit)
        try BufferedOutput.print(DeadLettersReport.table(letters, as: format), as: format)
        Console.writeIfMore(than: letters.count, limit: limit)
    }
}

struct DeadLettersShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows one rejected record: the reason, its key, headers and value.",
        discussion: """
            --format ndjson prints the line that weir publish reads. Passwords and receipts of store \
            notifications are printed as ***, unless you give --unmasked.

              weir dead-letters show bids/2/81720
              weir dead-letters show bids/2/81720 --format ndjson > record.ndjson
            """)

    @Argument(
        help: ArgumentHelp(
            "The record, as weir dead-letters list prints it.", valueName: "topic/partition/offset")
    )
    var place: String
    @OptionGroup var data: DataOptions
    @OptionGroup var masking: MaskOptions
    @Option(help: "table or ndjson (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: RecordFormat.table)
        let position = try TopicPosition(argument: place)
        let kept = try data.deadLetters(at: [position])[0]
        let mask = try masking.mask(topic: position.topic)
        let output = BufferedOutput()
        try kept.withRecord { record in
            let masked = mask?.masked(record)
            switch format {
            case .table:
                let text = DeadLetterText(kept: kept, record: record, maskedValue: masked)
                try output.write(text.text)
            case .ndjson:
                try output.write { RecordLine.append(record, maskedValue: masked, to: &$0) }
            }
        }
        try output.flush()
        if kept.refusal.valueSHA256 != nil {
            Console.write("the value was too large to store: only its SHA-256 is stored")
        }
    }
}

struct DeadLettersRequeueCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "requeue",
        abstract: "Publishes rejected records again, each once.",
        discussion: """
            A copy has the bytes, key and headers of the original. It goes to the original's partition with a \
            new timestamp, and its header weir_origin names the original. The command skips records that were \
            requeued before: it finds their copies in the log by header and bytes. So you can repeat the \
            command, also after it was killed.

            If a copy is rejected, it is a dead letter too, and you can requeue it again. You cannot requeue \
            tombstones, conflicts and records that were too large to store.

              weir dead-letters requeue bids/2/81720
              weir dead-letters requeue --reason untrusted --topic store-notifications --dry-run
              weir dead-letters requeue --all --limit 1000
            """)

    @Argument(
        help: ArgumentHelp(
            "The records, as weir dead-letters list prints them.",
            valueName: "topic/partition/offset"))
    var places: [String] = []
    @Flag(help: "Requeue all rejected records.")
    var all = false
    @OptionGroup var selection: DeadLetterOptions
    @OptionGroup var times: TimeOptions
    @OptionGroup var data: DataOptions
    @Option(help: "The maximum number of records.")
    var limit = 10_000
    @Flag(help: "Print what would be requeued, and publish nothing.")
    var dryRun = false
    @Flag(
        help: """
            Also requeue records that are older than the log. The command cannot detect whether they were \
            requeued before. If one was, it counts twice.
            """)
    var unchecked = false
    @OptionGroup var log: LogOptions
    @OptionGroup var format: DumpFormatOptions

    func run() throws {
        let format = try format.chosen()
        try requirePositive(limit: limit)
        guard [!places.isEmpty, all, selection.isGiven || times.isGiven].count(where: { $0 }) == 1
        else {
            throw CommandError.usage(
                "select the records: give places such as bids/2/81720, --all, or some of --topic, --reason, --where, "
                    + "--since and --until")
        }
        let named = try places.map { try TopicPosition(argument: $0) }
        let log = try log.open(.existing, data)
        let directories = data.directories
        let locks = dryRun ? [] : try RequeueRun.lock(directories)
        defer { withExtendedLifetime(locks) {} }

        let letters =
            named.isEmpty
            ? try data.deadLetters(selection.query(times), limit: limit)
            : try data.deadLetters(at: Set(named).sorted()).map(DeadLetter.init)
        var requeue = Requeue(to: log) { try data.stores().deadLetters(at: $0) }
        requeue.includesUnchecked = unchecked
        var strangers: [String] = []
        requeue.onStranger = { letter, stranger in
            strangers.append(
                "\(stranger) claims to be a copy of \(letter.firstPosition), but has another key, value or "
                    + "header: Weir ignores it")
        }
        requeue.onProgress = {
            Console.show(progress: "searched \(counted($0, "record")) of the log")
        }
        var outcomes = try Console.removingProgress { try requeue.plan(letters) }
        for explanation in strangers { Console.write(explanation) }
        var failure: (any Error)?
        if !dryRun {
            do {
                try RequeueRun(requeue, in: directories)
                    .publish(letters, &outcomes, by: .ofCommand)
            } catch { failure = error }
        }
        try BufferedOutput.print(RequeueReport.table(letters, outcomes), as: format)
        Console.write(RequeueReport.summary(outcomes, isDry: dryRun))
        if named.isEmpty { Console.writeIfMore(than: letters.count, limit: limit) }
        if let failure { throw failure }
        guard !named.isEmpty else { return }
        for (letter, outcome) in zip(letters, outcomes) {
            guard case .impossible(let explanation) = outcome else { continue }
            throw CommandError.failure("\(letter.position) cannot be requeued: \(explanation)")
        }
    }
}

struct DeadLetterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only records of this topic; repeatable (default: all).", valueName: "topic"))
    var topic: [String] = []
    @Option(
        help: ArgumentHelp(
            "Only records with this reason; repeatable (default: all reasons of rejected records).",
            discussion: DeadLetterQuery.validReasons.joined(separator: ", ") + ".",
            valueName: "reason"))
    var reason: [String] = []
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            "Only records with this value in this column of weir dump rejected; days are in UTC; repeatable.",
            valueName: "column=value"))
    var conditions: [String] = []

    var isGiven: Bool { !topic.isEmpty || !reason.isEmpty || !conditions.isEmpty }

    func query(_ times: TimeOptions) throws -> DeadLetterQuery {
        var query = DeadLetterQuery()
        query.topics = Set(topic)
        query.reasons = Set(reason)
        if let unknown = reason.first(where: { !DeadLetterQuery.validReasons.contains($0) }) {
            throw CommandError.usage(
                "no reason '\(unknown)': use "
                    + DeadLetterQuery.validReasons.joined(separator: ", "))
        }
        (query.sinceMilliseconds, query.untilMilliseconds) = try times.milliseconds()
        query.conditions = try ReportRequest.Condition.list(arguments: conditions)
        return query
    }
}

extension DataOptions {
    /// The first rejected records, by topic, partition and offset.
    fileprivate func deadLetters(_ query: DeadLetterQuery, limit: Int) throws -> [DeadLetter] {
        try stores().deadLetters(query, limit: limit) { DeadLetter($0) }
    }

    /// The rejected records at some positions. Throws if one of them does not exist.
    fileprivate func deadLetters(at positions: [TopicPosition]) throws -> [KeptRecord] {
        let found = try stores().deadLetters(at: positions)
        if let missing = positions.first(where: { position in
            !found.contains { $0.position == position }
        }) {
            throw CommandError.failure(
                "no rejected record \(missing) in \(listed): see weir dead-letters list")
        }
        return found
    }
}

enum DeadLettersReport {
    /// Tables format positions and times for people; other formats have numbers.
    static func table(_ letters: [DeadLetter], as format: DumpFormat) -> ReportTable {
        ReportTable(letters, format == .table ? forPeople : fields)
    }

    private static let forPeople: [ReportColumn<DeadLetter>] = [
        .text("dead_letter") { $0.position.description },
        .text("time") { UTC.text(milliseconds: $0.timestampMilliseconds) },
        .text("type") { $0.type }, .text("reason") { $0.reason },
        .number("bytes") { $0.valueBytes }, .text("origin") { $0.origin?.description },
        .text("detail") { $0.detail },
    ]
    private static let fields: [ReportColumn<DeadLetter>] = [
        .text("topic") { $0.position.topic }, .number("partition") { $0.position.partition },
        .number("offset") { $0.position.offset }, .number("timestamp") { $0.timestampMilliseconds },
        .text("type") { $0.type }, .text("reason") { $0.reason }, .text("detail") { $0.detail },
        .number("bytes") { $0.valueBytes }, .text("origin") { $0.origin?.description },
    ]
}
