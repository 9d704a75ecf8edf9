import ArgumentParser
import Program
import Reports

/// Whether secrets are printed.
struct MaskOptions: ParsableArguments {
    @Flag(
        help: """
            Show passwords and receipts of store notifications, which are masked by default (WEIR_UNMASKED).
            """)
    var unmasked = false

    /// The mask for records of a topic; nil when secrets are printed.
    func mask(topic: String) throws(UsageError) -> SecretMask? {
        guard try !Environment().isSet("WEIR_UNMASKED", option: unmasked) else { return nil }
        return SecretMask(topic: topic)
    }
}
