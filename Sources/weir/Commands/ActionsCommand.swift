import ArgumentParser
import Engine
import History
import Program
import Reports
import Wording

struct ActionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "actions",
        abstract: "Lists what operators did, the newest action first.",
        discussion: """
            The log of actions (operator-log.ndjson in the data directory) has an entry for each requeue of dead \
            letters, each retry of deliveries and each erasure, by commands and on pages of the dashboard. An entry names the \
            holder and the id of the operator's token, or the user who ran the command. state is begun, done or \
            failed. An action stays begun if its process was killed.

              weir actions
              weir actions --limit 20 --format json
            """)

    @OptionGroup var data: DataOptions
    @Option(help: "The maximum number of actions.")
    var limit = 100
    @OptionGroup var format: DumpFormatOptions

    func run() throws {
        let format = try format.chosen()
        try requirePositive(limit: limit)
        let (entries, damaged) = try OperatorLog(directories: data.directories).entries()
        try BufferedOutput.print(
            OperatorLogReport.table(Array(entries.prefix(limit))), as: format)
        if damaged > 0 {
            Console.write(
                "warning: \(OperatorLog.fileName) has \(counted(damaged, "unreadable line")): see docs/reference/stores.md"
            )
        }
        Console.writeIfMore(than: min(entries.count, limit), limit: limit)
    }
}
