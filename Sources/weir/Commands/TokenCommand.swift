import ArgumentParser

/// `weir token`
struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Makes and reads the collector's tokens, and makes keys.",
        subcommands: [
            TokenMakeCommand.self, TokenReadCommand.self, TokenNewKeyCommand.self,
            TokenNewProducerCommand.self,
        ])
}
