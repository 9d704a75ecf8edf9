import AggregateStore
import ArgumentParser
import EventLog
import Foundation
import Inspection
import Streams
import Worker

/// `weir dead-letters`
struct DeadLettersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters",
        abstract: "Rejected records: which there are, what is in them, and publishing them again.",
        discussion: """
            Stores keep every rejected record with its bytes and the reason. Once the cause is mended (a \
            model, a secret, a version of Weir that knows the field), publish them again:

              weir dead-letters list --reason missing_field --since 7d
              weir dead-letters show bids/2/81720
              weir dead-letters requeue --topic bids --reason missing_field --dry-run
              weir dead-letters requeue --topic bids --reason missing_field

            docs/dead-letters.md says what a requeued record counts as.
            """,
        subcommands: [
            DeadLettersListCommand.self, DeadLettersShowCommand.self,
            DeadLettersRequeueCommand.self,
        ])
}

/// `weir dead-letters list`
struct DeadLettersListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists rejected records, by topic, partition and offset.",
        discussion: """
            Untrusted records and conflicts are listed with --reason untrusted and --reason conflict. \
            bytes is the length of the value; a record that was too large has none. origin is the record \
            that a requeued one is a copy of.

              weir dead-letters list
              weir dead-letters list --where type=openrtb.win --limit 20 --format json
            """)

    @OptionGroup var selection: DeadLetterOptions
    @Option(help: "At most so many.")
    var limit = 100
    @Option(help: "table, json, ndjson or csv (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: DumpFormat.table)
        guard limit > 0 else { throw CommandError.usage("--limit is \(limit): write 1 or more") }
        let letters = try selection.stores().deadLetters(selection.query(), limit: limit) {
            DeadLetter($0)
        }
        let output = BufferedOutput()
        try DeadLettersReport.table(letters, as: format).write(as: format) {
            (piece: [UInt8]) throws(CommandError) in try output.write(piece)
        }
        try output.flush()
        if letters.count == limit {
            Notice.write("there may be more than these \(limit): give --limit")
        }
    }
}

/// `weir dead-letters show`
struct DeadLettersShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows one refused record: why, its key, its headers and its value.",
        discussion: """
            --format ndjson prints the line that weir publish reads. Passwords and receipts of store \
            notifications are printed as ***, as weir read does it, unless --unmasked is given.

              weir dead-letters show bids/2/81720
              weir dead-letters show bids/2/81720 --format ndjson > record.ndjson
            """)

    @Argument(
        help: ArgumentHelp(
            "Which one, as weir dead-letters list names it.", valueName: "topic/partition/offset"))
    var place: String
    @OptionGroup var data: DataOptions
    @OptionGroup var masking: MaskOptions
    @Option(help: "table or ndjson (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: RecordFormat.table)
        let place = try RecordAddress(argument: place)
        let stores = try StoreSet(directories: data.directories)
        guard let kept = try stores.deadLetters(at: [place]).first else {
            throw CommandError.failure(
                "no refused record \(place) in \(data.directories.joined(separator: ", ")): "
                    + "see weir dead-letters list")
        }
        let mask = try masking.mask(topic: place.topic)
        let output = BufferedOutput()
        try kept.withRecord { record in
            let masked = mask?.masked(record)
            switch format {
            case .table:
                try output.write(DeadLetterText(kept, record, maskedValue: masked).text)
            case .ndjson:
                try output.write { RecordLine.append(record, maskedValue: masked, to: &$0) }
            }
        }
        try output.flush()
        if kept.refusal.valueSHA256 != nil {
            Notice.write("the value was too large to keep: only its SHA-256 is there")
        }
    }
}

/// `weir dead-letters requeue`
struct DeadLettersRequeueCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "requeue",
        abstract: "Publishes rejected records again, each once.",
        discussion: """
            A copy has the bytes, the key and the headers of the record, goes to its partition at a new \
            timestamp, and names the record in its header weir_origin. What was requeued before is left \
            alone, which the log itself shows by header and bytes: so the same command may be given again, also after \
            it was killed. A copy that is rejected is a dead letter of its own, and can be requeued \
            again. Tombstones, conflicts and records that were too large to keep cannot be.

              weir dead-letters requeue bids/2/81720
              weir dead-letters requeue --reason untrusted --topic store-notifications --dry-run
              weir dead-letters requeue --all --limit 1000
            """)

    @Argument(
        help: ArgumentHelp(
            "Which, as weir dead-letters list names them.", valueName: "topic/partition/offset"))
    var places: [String] = []
    @Flag(help: "All rejected records.")
    var all = false
    @OptionGroup var selection: DeadLetterOptions
    @Option(help: "At most so many.")
    var limit = 10_000
    @Flag(help: "Say what would be requeued, and publish nothing.")
    var dryRun = false
    @Flag(
        help: """
            Also those that the log no longer reaches back to: whether they were requeued before \
            is then not known, and one that was counts twice.
            """)
    var unchecked = false
    @OptionGroup var log: LogOptions
    @Option(help: "table, json, ndjson or csv (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: DumpFormat.table)
        guard limit > 0 else { throw CommandError.usage("--limit is \(limit): write 1 or more") }
        let isNarrowed = selection.isNarrowed
        guard [!places.isEmpty, all, isNarrowed].count(where: { $0 }) == 1 else {
            throw CommandError.usage(
                "say which: places as bids/2/81720, --all, or some of --topic, --reason, --where, "
                    + "--since and --until")
        }
        let named = try places.map { try RecordAddress(argument: $0) }
        let directories = selection.data.directories
        let log = try log.open(.existing, dataDirectories: directories)
        // Two at once would both find that a copy is not there yet.
        let locks = dryRun ? [] : try directories.map(Self.lock)
        defer { withExtendedLifetime(locks) {} }

        let letters = try letters(named)
        var requeue = Requeue(to: log) { try selection.stores().deadLetters(at: $0) }
        requeue.includesUnchecked = unchecked
        var strangers: [String] = []
        requeue.onStranger = { letter, stranger in
            strangers.append(
                "\(stranger) says that it is a copy of \(letter.firstPlace), and has other bytes: it does "
                    + "not count as one")
        }
        if StandardError.isTerminal {
            requeue.onProgress = { StandardError.show("looked through \($0) records of the log") }
        }
        var outcomes = try {
            defer { StandardError.show("") }
            return try requeue.plan(letters)
        }()
        for words in strangers { Notice.write(words) }
        let failure = dryRun ? nil : publish(requeue, letters, &outcomes)
        let output = BufferedOutput()
        try RequeueReport.table(letters, outcomes).write(as: format) {
            (piece: [UInt8]) throws(CommandError) in try output.write(piece)
        }
        try output.flush()
        Notice.write(RequeueReport.summary(outcomes, isDry: dryRun))
        if named.isEmpty, letters.count == limit {
            Notice.write("there may be more than these \(limit): give --limit")
        }
        if let failure { throw failure }
        if let words = impossible(named, outcomes) { throw CommandError.failure(words) }
    }

    /// Publishes what is due; returns why not all of it was.
    private func publish(
        _ requeue: Requeue, _ letters: [DeadLetter], _ outcomes: inout [Requeue.Outcome]
    ) -> CommandError? {
        var noted = outcomes
        defer { outcomes = noted }
        do {
            try requeue.publish(letters, outcomes) { noted[$0] = $1 }
            return nil
        } catch {
            let words = CommandError(error)?.words ?? "\(error)"
            return .failure(
                "\(words) (what is due above may be in the log or not: give the same command again, "
                    + "which looks, and publishes what is not there)")
        }
    }

    private func letters(_ named: [RecordAddress]) throws -> [DeadLetter] {
        let stores = try selection.stores()
        guard !named.isEmpty else {
            return try stores.deadLetters(selection.query(), limit: limit) { DeadLetter($0) }
        }
        let places = Set(named).sorted()
        let found = try stores.deadLetters(at: places).map(DeadLetter.init)
        if let missing = places.first(where: { place in !found.contains { $0.place == place } }) {
            throw CommandError.failure(
                "no refused record \(missing) in "
                    + "\(selection.data.directories.joined(separator: ", ")): see weir dead-letters list"
            )
        }
        return found
    }

    /// What somebody named and cannot have; nil when there is nothing like that.
    private func impossible(
        _ named: [RecordAddress], _ outcomes: [Requeue.Outcome]
    ) -> String? {
        guard !named.isEmpty else { return nil }
        let places = Set(named).sorted()
        for (place, outcome) in zip(places, outcomes) {
            if case .impossible(let words) = outcome {
                return "\(place) cannot be requeued: \(words)"
            }
        }
        return nil
    }

    private static func lock(_ directory: String) throws -> StoreLock {
        do throws(StoreError) {
            return try StoreLock(storePath: "\(directory)/requeue")
        } catch {
            guard case .locked(_, let owner) = error else { throw error }
            throw CommandError.failure(
                "another weir dead-letters requeue is at work in \(directory)\(owner): wait for it")
        }
    }
}
