import ArgumentParser

/// Whether secrets are shown.
struct MaskOptions: ParsableArguments {
    @Flag(
        help: """
            Shows passwords and receipts of store notifications, which are masked otherwise \
            (WEIR_UNMASKED).
            """)
    var unmasked = false

    /// What hides the secrets of a topic's records; nil when they are to be shown.
    func mask(topic: String) throws(CommandError) -> SecretMask? {
        guard !unmasked, try !Environment().flag("WEIR_UNMASKED") else { return nil }
        return SecretMask(topic: topic)
    }
}
