import ArgumentParser

/// Whether texts stand in CSV as they are.
struct RawOptions: ParsableArguments {
    @Flag(
        help: """
            In CSV: every text as it is. Else backslashes, control characters and those that nobody sees are \
            escaped, and an apostrophe stands before a text that a spreadsheet would run as a formula \
            (WEIR_RAW).
            """)
    var raw = false

    /// What was asked for.
    func isSet() throws(CommandError) -> Bool {
        try Environment().isSet("WEIR_RAW", option: raw)
    }
}
