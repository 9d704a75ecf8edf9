import ArgumentParser
import Inspection
import Pipelines

/// `weir what-if`
struct WhatIfCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "what-if",
        abstract: "Shows what other conversion models would make of the values that came.",
        discussion: """
            Decodes the stored conversion values under the models of --models, and compares the events \
            and the revenue with those that are stored: the difference that a replay under these models \
            would make, without one.

              cp -r pipelines/conversion-models candidate
              edit candidate/525463029.yaml
              weir what-if --models candidate
              weir what-if --models candidate --by total --where app_id=525463029

            difference is candidate less stored. Apps without a file in --models are left out. The columns \
            are those of decoded-events. docs/analysis.md has more.
            """)

    @Option(
        help: ArgumentHelp(
            "The directory of the candidate models: <app>.yaml, or a folder conversion-models of them.",
            valueName: "dir"))
    var models: String
    @OptionGroup var selection: SelectionOptions
    @OptionGroup var comparison: ComparisonOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var format: DumpFormatOptions
    @OptionGroup var csv: RawOptions

    /// By campaign, and by what cannot be added up.
    private static let columns = ["ad_network_id", "campaign", "app_id", "event", "currency"]

    func run() throws {
        let format = try format.chosen()
        var query = try selection.query("decoded-events")
        if selection.by == nil { query.grouping = .columns(Self.columns) }
        let candidates = try PipelineDirectory(models).candidateModels()
        _ = try StoreSet(directories: data.directories)
            .whatIf(candidates, comparison.question(query)).write(as: format, isRaw: csv.isSet())
    }
}
