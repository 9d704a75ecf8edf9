import ArgumentParser
import Explanation
import Inspection
import Streams

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
    @Option(help: "table or json (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: ReportFormat.table)
        var verifier = try EvidenceVerifier(path: file)
        let checks = try verifier.verify()
        let output = BufferedOutput()
        switch format {
        case .table:
            try output.write("\(verifier.claim.withoutControls)\n")
            try output.write("manifest sha256:\(verifier.manifestDigest)\n\n")
            for check in checks {
                let word = check.holds ? "holds" : "DOES NOT HOLD"
                try output.write("\(check.name): \(word): \(check.words.withoutControls)\n")
            }
        case .json: try output.write(json(verifier, checks) + "\n")
        }
        try output.flush()
        let failed = checks.filter { !$0.holds }.map(\.name)
        guard failed.isEmpty else {
            throw CommandError.failure(
                "\(file) does not hold: \(failed.joined(separator: ", ")); the number is not shown by it"
            )
        }
    }

    private func json(
        _ verifier: EvidenceVerifier, _ checks: [EvidenceVerifier.Check]
    ) -> String {
        var text = JSONText()
        text.object { text in
            text.name("claim")
            text.string(verifier.claim)
            text.name("manifest_sha256")
            text.string(verifier.manifestDigest)
            text.name("holds")
            text.raw(checks.allSatisfy(\.holds))
            text.name("checks")
            text.array { text in
                for check in checks {
                    text.object { text in
                        text.name("name")
                        text.string(check.name)
                        text.name("holds")
                        text.raw(check.holds)
                        text.name("words")
                        text.string(check.words)
                    }
                }
            }
        }
        return text.text.withoutControlsInJSON
    }
}
