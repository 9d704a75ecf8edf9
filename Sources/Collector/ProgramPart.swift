/// A part of the program that the collector runs in, beside it.
package struct ProgramPart: Equatable, Sendable {
    /// Name of the program that the part is elsewhere, as `weir-bids`.
    package let name: String
    /// It does not work just now.
    package let hasFailed: Bool

    /// States both.
    package init(_ name: String, hasFailed: Bool) {
        self.name = name
        self.hasFailed = hasFailed
    }
}
