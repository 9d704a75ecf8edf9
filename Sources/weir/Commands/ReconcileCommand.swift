import ArgumentParser
import Inspection

/// `weir reconcile`
struct ReconcileCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reconcile",
        abstract: "Sets the postbacks that networks got against the copies that developers got.",
        discussion: """
            Devices send a winning postback to the ad network and, where the app asks for it, to its \
            developer. Each pair of copies is found by its id. By day and campaign: how many match, how \
            many copies are missing on either side, and how many carry other values.

              weir reconcile --since 2026-11-01
              weir reconcile --by ad_network_id --format csv
              weir reconcile --where campaign=5239 --records

            --records lists the postbacks that do not match, with the partition and the offsets of their \
            copies, for weir read and weir explain. Only trusted copies count; the others are \
            counted apart. The columns: hour, day, ad_network_id, campaign, app_id, source_app_id, \
            sequence_index. docs/analysis.md has more.
            """)

    @OptionGroup var selection: SelectionOptions
    @Flag(help: "A line for each postback that does not match.")
    var records = false
    @Flag(help: "With --records: those that match, too.")
    var all = false
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var format: DumpFormatOptions
    @OptionGroup var csv: RawOptions

    func run() throws {
        let format = try format.chosen()
        guard records || !all else {
            throw CommandError.usage("--all is of --records: counts have all postbacks")
        }
        var question = ReconciliationQuery(query: try selection.query("reconcile"))
        question.showsRecords = records
        question.showsMatched = all
        question.trustsDevelopment = try pipelines.trustsDevelopment()
        let found = try StoreSet(directories: data.directories).reconciliation(question)
        try BufferedOutput.print(found.table, as: format, isRaw: csv.isSet())
        found.notices.forEach(Notice.write)
    }
}
