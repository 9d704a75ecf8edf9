import ArgumentParser

/// Where the stores are.
struct DataOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A directory of stores; may be given several times (WEIR_DATA, separated by colons; "
                + "default: data).",
            valueName: "dir"))
    var data: [String] = []

    /// The data directories, at least one.
    var directories: [String] { Environment().dataDirectories(data) }
}
