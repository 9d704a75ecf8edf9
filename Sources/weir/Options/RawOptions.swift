import ArgumentParser

/// Whether texts stand in CSV as they are.
struct RawOptions: ParsableArguments {
    @Flag(
        help: """
            In CSV: no apostrophe before texts that begin with =, +, -, @, a tab or a carriage return, which \
            a spreadsheet would run as a formula (WEIR_RAW).
            """)
    var raw = false

    /// What was asked for.
    func isSet() throws(CommandError) -> Bool {
        try Environment().isSet("WEIR_RAW", option: raw)
    }
}
