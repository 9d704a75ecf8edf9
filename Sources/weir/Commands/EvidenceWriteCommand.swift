import ArgumentParser
import Explanation
import Inspection

/// `weir evidence write`, or `weir evidence` alone
struct EvidenceWriteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "write",
        abstract: "Writes what a number rests on into one file.",
        discussion: """
            Takes the rows that weir explain takes. Passwords and receipts of store notifications are \
            masked, and shared secrets never leave.
            """)

    @OptionGroup var selection: CellOptions
    @Option(help: "The file to write; none may be there.")
    var out: String
    @OptionGroup var source: SourceOptions

    func run() throws {
        let query = try selection.query()
        let cell = try selection.cell(source.pipelines)
        let explanation = try source.explainer().writeEvidence(
            of: cell,
            EvidenceQuestion(
                conditions: selection.conditions, sinceMilliseconds: query.sinceMilliseconds,
                untilMilliseconds: query.untilMilliseconds), to: out
        ) { record in
            SecretMask(topic: record.topic).masked(record.folded.record)
        }
        let output = BufferedOutput()
        try output.write(
            "\(out): \(explanation.counted) records that count, \(explanation.leftOut) left out\n")
        for words in explanation.words { try output.write(words.withoutControls + "\n") }
        try output.flush()
        guard explanation.addsUp else {
            throw CommandError.failure(
                "the records do not add up to the number, and so neither does \(out): see weir explain"
            )
        }
    }
}
