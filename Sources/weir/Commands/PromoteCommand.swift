import AggregateStore
import ArgumentParser
import Foundation
import Inspection
import Worker

/// `weir promote`
struct PromoteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "promote",
        abstract: "Puts replayed stores in force, and lists what they correct for partners.",
        discussion: """
            Workers of the data directory finish their batch, give their stores up and wait; the set is \
            folded until it is as far as they were; then sets.json is replaced, and everybody goes on with \
            the new stores. Killed at any instant, it leaves the old set in force or the new one, and the \
            workers go on. The old set is kept: --back puts it in force again.

            Postbacks that were published with another content, would not have been published, or were \
            not published although they should have been, are listed. Only with --emit are they sent: \
            each with the next revision, and with the one that it supersedes. What is listed and was not \
            sent is sent by the same command with --emit, as long as the set is in force: --back --emit \
            behind --back sends what going back corrects, and changes no stores. --back alone is refused \
            then: name the set that is to be in force.

              weir promote data/sets/fixed --dry-run
              weir promote data/sets/fixed
              weir promote data/sets/fixed --emit
              weir promote --back
            """)

    @Argument(help: "The directory of the stores, as weir replay --into has made it.")
    var directory: String?
    @Flag(help: "Puts the set before the present one in force again.")
    var back = false
    @Flag(help: "Sends the corrections to the topic partner-postbacks.")
    var emit = false
    @Flag(help: "Say what would change, as far as both sets are folded now; no more.")
    var dryRun = false
    @Flag(help: "Go on although the set holds less than the present one.")
    var acceptLostHistory = false
    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @Option(
        help: ArgumentHelp(
            "An archive to read first: sqlite:PATH, or off (WEIR_ARCHIVE; default: that of the replay).",
            valueName: "address"))
    var archive: String?
    @OptionGroup var pipelines: PipelinesOptions
    @Option(
        help: ArgumentHelp(
            "How long workers may take to give their stores up (default: 120).",
            valueName: "seconds"))
    var patience = 120
    @Option(help: "table or json (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: ReportFormat.table)
        let order = try order()
        let promotion = try Promotion(order)
        var report = PromotionReport(
            isDryRun: dryRun, data: order.data,
            directory: promotion.correctionsDirectory ?? order.data)
        report.isBack = back
        if dryRun {
            report.streams = try promotion.check()
            if promotion.streams.isEmpty {
                try addCorrections(of: promotion, to: &report)
            } else {
                try promotion.forEachCorrection { try report.add($0) }
            }
        } else {
            StopSignal.listen()
            if !promotion.streams.isEmpty {
                report.streams = try promotion.run(stop: .ofProcess, tell: Notice.write)
            }
            if emit { report.sent = try send(promotion, order) }
            try addCorrections(of: promotion, to: &report)
        }
        let output = BufferedOutput()
        try output.write(report.text(format))
        try output.flush()
        for stream in report.streams {
            guard let refusal = stream.refusal else { continue }
            Notice.write("weir-\(stream.stream) will refuse to go on with it: \(refusal)")
        }
        if emit, !dryRun, StopSignal.ofProcess.isRequested {
            throw CommandError.failure(
                "stopped: run the same command again to send what is left, if anything is")
        }
    }

    private func order() throws -> PromotionOrder {
        guard data.directories.count == 1, let data = data.directories.first else {
            throw CommandError.usage("promote one data directory at a time: give one --data")
        }
        guard back != (directory != nil) else {
            throw CommandError.usage(
                back
                    ? "give a directory or --back, not both: each names a set"
                    : "say which set: a directory, or --back")
        }
        guard patience >= 0 else {
            throw CommandError.usage("--patience is \(patience): write 0 or more seconds")
        }
        return PromotionOrder(
            data: data, target: directory.map { .directory($0) } ?? .back,
            source: try ReplaySource(log, archive: archive, data: [data], pipelines: pipelines),
            acceptsLostHistory: acceptLostHistory, sendsCorrections: emit,
            threadCount: try threadCount(nil),
            patienceSeconds: patience)
    }

    private func send(_ promotion: Promotion, _ order: PromotionOrder) throws -> Int {
        guard let directory = promotion.correctionsDirectory else { return 0 }
        return try CorrectionSending(directory: directory, source: order.source)
            .run(stop: .ofProcess)
    }

    private func addCorrections(
        of promotion: Promotion, to report: inout PromotionReport
    ) throws {
        guard let directory = promotion.correctionsDirectory,
            let corrections = try CorrectionStore(directory: directory)
        else { return }
        var listed = report
        try corrections.forEach { _, correction in try listed.add(correction) }
        report = listed
    }
}
