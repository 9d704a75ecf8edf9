import ArgumentParser
import Inspection

/// `weir digest`
struct DigestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "digest",
        abstract: "Prints one line that is the same for equal logs and configurations.",
        discussion: """
            It covers the rows of every dump, how far each partition is folded, which ids are \
            remembered, what is for partners, and which configurations were in force. Two sets of \
            stores with one digest hold the same, whatever happened on the way.
            """)

    @OptionGroup var data: DataOptions

    func run() throws {
        let digest = try StoreSet(directories: data.directories).digest()
        try BufferedOutput.print(digest + "\n")
    }
}
