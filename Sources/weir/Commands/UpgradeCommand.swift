import ArgumentParser
import Engine
import Foundation
import History
import JSON
import Program
import Reports
import Store
import Wording

struct UpgradeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upgrade",
        abstract: "Brings the stores to the tables and counting rules of this version.",
        discussion: """
            Run it after you installed another version of Weir. It prints for each store which of these it does:

              current    nothing: the store fits
              in place   adds bookkeeping, which changes no number
              refold     folds the log again into DATA/sets/upgrade-N, compares the sums, and promotes
              continue   copies the store there and counts new measures from the next record on, because the \
            log no longer has its first records; before that, they are unknown (null)

            Workers and readers continue with the earlier stores until the switch. A terminal shows the progress \
            and the time left. If the command stops, run it again. If sums differ that should be equal, nothing is \
            switched. --back puts the earlier stores in force again.

              weir upgrade --dry-run
              weir upgrade
              weir upgrade --back
            """)

    @Flag(help: "Print what each store needs; change nothing.")
    var dryRun = false
    @Flag(help: "Put the earlier stores in force again.")
    var back = false
    @Flag(help: "Switch although sums differ that should be equal.")
    var acceptDifferences = false
    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @Option(
        help: ArgumentHelp(
            "An archive to read first: sqlite:PATH, or off (WEIR_ARCHIVE; default: off).",
            valueName: "address"))
    var archive: String?
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var access: FileAccessOptions
    @Option(
        help: ArgumentHelp(
            "How long workers may take to release their stores (default: 120).",
            valueName: "seconds"))
    var patience = 120
    @Option(
        help: ArgumentHelp(
            "Threads that fold partitions and verify signatures (default: one a processor).",
            valueName: "count"))
    var threads: Int?
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        guard !back || !(dryRun || acceptDifferences) else {
            throw CommandError.usage("--back has no --dry-run and no --accept-differences")
        }
        guard patience >= 0 else {
            throw CommandError.usage("--patience is \(patience): write 0 or more seconds")
        }
        let directory = try data.single("upgrade one data directory at a time: give one --data")
        let upgrade = Upgrade(
            UpgradeOrder(
                data: directory,
                source: try ReplaySource(log, archive: archive, data: data, pipelines: pipelines),
                threadCount: try threadCount(threads), patienceSeconds: patience,
                acceptsDifferences: acceptDifferences, showsProgress: true))
        var report = UpgradeReport(data: directory)
        if dryRun {
            report.result.stores = try upgrade.plan()
        } else {
            StopSignal.listen()
            if back {
                report.isBack = true
                report.result.promoted = try upgrade.back(stop: .ofProcess, tell: Console.write)
            } else {
                report.result = try upgrade.run(stop: .ofProcess, tell: Console.write)
            }
        }
        try BufferedOutput.print(report, as: format)
        report.result.promoted.compactMap(\.erasedWarning).forEach(Console.write)
        for stream in report.result.promoted {
            guard let refusal = stream.refusal else { continue }
            Console.write("weir-\(stream.stream) will refuse to go on with it: \(refusal)")
        }
    }
}

/// What was done, or is to be done, with each store.
struct UpgradeReport: Report {
    let data: String
    var isBack = false
    var result = UpgradeResult()

    private static let columns: [ReportColumn<StoreUpgrade>] = [
        .text("stream") { $0.stream }, .text("store") { $0.path }, .text("way") { $0.way.rawValue },
        .text("reason") { $0.reason },
    ]

    var table: String {
        var text = isBack ? [] : TextTable(result.stores, Self.columns).shownLines
        text += result.waiting.map { "restart the worker of \($0): it adds the bookkeeping" }
        text += result.differences.map { "differs: \($0)" }
        text += result.promoted.map { "\($0.stream): \($0.from) -> \($0.to)" }
        if isBack {
            text += Set(result.promoted.map(\.from)).sorted().map {
                "forth again: \(ShellWords.text(["weir", "promote", $0, "--data", data]))"
            }
        } else if !result.promoted.isEmpty {
            text.append("back: \(ShellWords.text(["weir", "upgrade", "--back", "--data", data]))")
        }
        return text.map(\.withoutControls).joined(separator: "\n") + "\n"
    }

    func write(to json: inout JSONText) {
        json.object { json in
            json.objects("stores", result.stores) { $1.members(of: $0, Self.columns) }
            json.objects("streams", result.promoted) { stream, json in
                json.member("stream", stream.stream)
                json.member("from", stream.from)
                json.member("to", stream.to)
            }
            json.member("differences", result.differences)
            json.member("waiting", result.waiting)
        }
    }
}
