import ArgumentParser
import ConfigurationValues
import EventLog
import Foundation
import JSON
import Program
import Reports
import Streams
import Wording

struct CostsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "costs",
        abstract: "Imports the costs of campaigns.",
        subcommands: [CostsImportCommand.self])
}

struct CostsImportCommand: PublishingCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Publishes costs from a CSV file of an ad platform or of finance.",
        discussion: """
            A mapping defines the columns of the file: costs/NAME.yaml of --pipelines. Weir ships apple-ads, \
            google-ads, google-ads-api, meta and generic. The command checks every line before it publishes \
            anything. If a line is invalid, it reports file, line and column, and publishes nothing.

            You can import a file again, and a later file of the same days. The newer cost of a day, campaign, \
            country and currency replaces the older one. Equal costs count once.

              weir costs import report.csv --mapping google-ads --dry-run
              weir costs import report.csv --mapping google-ads
              weir-costs --until-end
              weir dump costs --by day,source,currency
            """)

    @Argument(help: "A CSV file (default, or -: standard input).")
    var file: String?
    @Option(help: ArgumentHelp("A mapping: costs/NAME.yaml of --pipelines.", valueName: "name"))
    var mapping: String
    @Flag(help: "Print what would be published, and publish nothing.")
    var dryRun = false
    @OptionGroup var log: LogOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var topics: TopicsOptions
    @OptionGroup var access: FileAccessOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        let directory = pipelines.directory(of: data)
        let found = try CostsImport(
            InputFile.contents(of: file), name: file.flatMap { $0 == "-" ? nil : $0 },
            mapping: directory.costMapping(mapping), named: mapping,
            nowMilliseconds: WallClock.milliseconds)
        try BufferedOutput.print(found.report, as: format)
        let unknown = try pipelines.configuration(of: data).catalog().unknownNetworks(
            among: found.report.networks)
        for network in unknown {
            Console.write("warning: \(Catalog.explanation(ofUnknown: network, directory.path))")
        }
        guard !dryRun else {
            return StandardError.write(
                line:
                    "dry run: \(counted(found.records.count, "record")) would be published, none were"
            )
        }
        let topic =
            CostsFold.isConfigured(in: directory)
            ? try CostsFold.file(in: directory).settings.topic : CostsFold.streamName
        try publish(to: topic, pipelines) { publisher throws(CommandError) in
            try publisher.publish(found.records(of: topic))
        }
    }
}

/// The reports of a CSV file, each validated like the worker does.
struct CostsImport {
    /// Records of the topic `costs`.
    private(set) var records: [OutgoingRecord] = []
    private(set) var report = CostsImportReport()

    /// The number of faulty lines to name after the first; a wrong mapping affects all lines.
    private static let faultsNamed = 10

    /// - Parameters:
    ///   - name: of the file, for messages; nil for standard input.
    ///   - named: name of the mapping.
    /// - Throws: a failure that names the faulty lines.
    init(
        _ bytes: [UInt8], name: String?, mapping: CostMapping, named mappingName: String,
        nowMilliseconds: Int64
    ) throws(CommandError) {
        let name = name ?? "standard input"
        let table: CostsTable
        do throws(CostsLineFault) {
            table = try CostsTable(bytes, mapping)
        } catch {
            throw .failure("\(name):\(error.line): \(error) (mapping \(mappingName))")
        }
        guard let reader = RecordKeyReader() else {
            throw .failure("not enough memory for a JSON parser")
        }
        report.skippedLines = table.skippedLines
        var faults: [CostsLineFault] = []
        for line in table.lines {
            do throws(CostsLineFault) {
                let line = try line.get()
                records.append(
                    try Self.record(
                        line, reader, table.mapping, mappingName, nowMilliseconds: nowMilliseconds))
                report.add(line)
            } catch {
                faults.append(error)
            }
        }
        if let first = faults.first {
            let others = faults.dropFirst().prefix(Self.faultsNamed).map { "\($0.line)" }
            let more = faults.count - 1 - others.count
            throw .failure(
                "\(name):\(first.line): \(first)"
                    + (others.isEmpty
                        ? "" : "; there are more faults in lines \(others.joined(separator: ", "))")
                    + (more > 0 ? " and \(more) more" : "") + ": nothing was published")
        }
        guard !records.isEmpty else {
            throw .failure(
                "\(name) contains no costs: \(counted(table.skippedLines, "line")) skipped by the mapping"
            )
        }
    }

    /// The records for a topic that may have another name.
    func records(of topic: String) -> [OutgoingRecord] {
        records.map { record in
            var record = record
            record.topic = topic
            return record
        }
    }

    private static func record(
        _ line: CostsLine, _ reader: RecordKeyReader, _ mapping: CostMapping,
        _ mappingName: String, nowMilliseconds: Int64
    ) throws(CostsLineFault) -> OutgoingRecord {
        let event = line.event
        do throws(Rejection) {
            let keyed = try reader.events(
                event, stream: CostsFold.self, type: CostsFold.defaultType, at: nowMilliseconds)
            let envelope = CloudEvent(
                type: CostsFold.defaultType, id: UUID().uuidString.lowercased(),
                source: "/costs/\(mappingName)", time: UTC.text(milliseconds: nowMilliseconds))
            return OutgoingRecord(
                topic: CostsFold.streamName, key: keyed.first?.key, headers: envelope.headers(),
                value: event)
        } catch {
            throw fault(error, line, mapping)
        }
    }

    /// The fault of a line, located at the column of the invalid field; the detail begins with the field's name.
    private static func fault(
        _ rejection: Rejection, _ line: CostsLine, _ mapping: CostMapping
    ) -> CostsLineFault {
        let explanation = "\(rejection.reason.name): \(rejection.detail)"
        let name = rejection.detail.prefix { $0 != " " }.split(separator: ".").last.map(String.init)
        // An event has one column for both kinds of campaign ids.
        let field =
            name == "source_identifier"
            ? CostMapping.Field.campaign : name.flatMap { CostMapping.Field(rawValue: $0) }
        guard let field, let column = mapping.columns[field] else {
            return CostsLineFault(line: line.line, explanation)
        }
        let value = line.values[field].map { "has '\($0)': " } ?? ""
        return CostsLineFault(line: line.line, column: column, value + explanation)
    }
}

/// The contents of an import, by source and currency.
struct CostsImportReport: Report {
    struct Entry {
        var reports = 0
        var firstDay = ""
        var lastDay = ""
        var costMicros = Int128(0)
    }

    private struct Key: Hashable, Comparable {
        let source: String
        let currency: String

        static func < (left: Key, right: Key) -> Bool {
            (left.source, left.currency) < (right.source, right.currency)
        }
    }

    private var entries: [Key: Entry] = [:]
    private(set) var networks: Set<String> = []
    var skippedLines = 0

    mutating func add(_ line: CostsLine) {
        let key = Key(
            source: line.values[.source] ?? "", currency: line.values[.currency] ?? "")
        let day = line.values[.day] ?? ""
        var entry = entries[key] ?? Entry(firstDay: day, lastDay: day)
        entry.reports += 1
        entry.firstDay = min(entry.firstDay, day)
        entry.lastDay = max(entry.lastDay, day)
        entry.costMicros += Int128(line.amountMicros ?? 0)
        entries[key] = entry
        if let network = line.values[.network], !network.isEmpty { networks.insert(network) }
    }

    private var sorted: [(key: Key, value: Entry)] { entries.sorted { $0.key < $1.key } }

    var table: String {
        let rows = sorted.map { key, entry in
            [
                key.source, key.currency, "\(entry.reports)", entry.firstDay, entry.lastDay,
                MoneyByCurrency(entry.costMicros, of: "cost_micros", currency: key.currency)?
                    .plainText ?? "",
            ]
        }
        return TextTable(
            header: ["source", "currency", "reports", "first_day", "last_day", "cost"],
            isNumber: [false, false, true, false, false, true], rows: rows
        ).text
            + (skippedLines > 0
                ? "\(counted(skippedLines, "line")) skipped by the mapping\n" : "")
    }

    func write(to json: inout JSONText) {
        json.object { json in
            json.objects("sources", sorted) { entry, json in
                json.member("source", entry.key.source)
                json.member("currency", entry.key.currency)
                json.member("reports", entry.value.reports)
                json.member("first_day", entry.value.firstDay)
                json.member("last_day", entry.value.lastDay)
                json.member("cost_micros", entry.value.costMicros)
            }
            json.member("skipped_lines", skippedLines)
        }
    }
}
