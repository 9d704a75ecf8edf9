import ArgumentParser

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
