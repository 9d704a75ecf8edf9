import ArgumentParser
import Explanation
import Inspection
import Streams

/// `weir evidence`
struct EvidenceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evidence",
        abstract: "Writes what a number rests on into one file, and checks such a file.",
        discussion: """
            The file is a tar archive: the stored rows, the raw records behind them and those left out, \
            what memory had answered, the configurations, model versions and public keys, and a manifest \
            with the SHA-256 of each. weir evidence verify checks it on any machine, without log, stores \
            or configuration.

            It proves that its records make the number of the rows that its manifest asks for. It does not \
            prove that the log had no others, nor offsets and times within the hour. Which file it is, the \
            manifest's SHA-256 says: hand that over apart from the file. docs/explain.md has more.

              weir evidence decoded-events --where campaign=5239 --where day=2026-11-20 --out march.tar
              weir evidence verify march.tar
            """,
        subcommands: [EvidenceWriteCommand.self, EvidenceVerifyCommand.self],
        defaultSubcommand: EvidenceWriteCommand.self)
}

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
        let lines =
            ["\(out): \(explanation.counted) records that count, \(explanation.leftOut) left out"]
            + explanation.words.map(\.withoutControls)
        try BufferedOutput.print(lines.map { $0 + "\n" }.joined())
        guard explanation.addsUp else {
            throw CommandError.failure(
                "the records do not add up to the number, and so neither does \(out): see weir explain"
            )
        }
    }
}

/// `weir evidence verify`
struct EvidenceVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract:
            "Checks a file that weir evidence wrote: exit code 0 when all of it holds, else 1.",
        discussion: """
            Needs nothing but the file: checks the SHA-256 of each part, verifies every signature, folds \
            the records under the recorded configurations and compares rows and number. What was changed \
            is named. That nothing was left away together with its rows it cannot tell: compare the \
            manifest's SHA-256 with the one that was handed over apart.
            """)

    @Argument(help: "The file.")
    var file: String
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        var verifier = try EvidenceVerifier(path: file)
        let checks = try verifier.verify()
        try BufferedOutput.print(EvidenceReport(verifier: verifier, checks: checks), as: format)
        let failed = checks.filter { !$0.holds }.map(\.name)
        guard failed.isEmpty else {
            throw CommandError.failure(
                "\(file) does not hold: \(failed.joined(separator: ", ")); the number is not shown by it"
            )
        }
    }

}

/// What the verification of an evidence file found.
private struct EvidenceReport: Report {
    let verifier: EvidenceVerifier
    let checks: [EvidenceVerifier.Check]

    var table: String {
        checks.reduce(
            "\(verifier.claim.withoutControls)\nmanifest sha256:\(verifier.manifestDigest)\n\n"
        ) { text, check in
            let word = check.holds ? "holds" : "DOES NOT HOLD"
            return text + "\(check.name): \(word): \(check.words.withoutControls)\n"
        }
    }

    func write(to json: inout JSONText) {
        json.object { json in
            json.member("claim", verifier.claim)
            json.member("manifest_sha256", verifier.manifestDigest)
            json.member("holds", checks.allSatisfy(\.holds))
            json.objects("checks", checks) { check, json in
                json.member("name", check.name)
                json.member("holds", check.holds)
                json.member("words", check.words)
            }
        }
    }
}
