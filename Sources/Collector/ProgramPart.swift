/// A part of the program that the collector runs in, beside it.
public struct ProgramPart: Equatable, Sendable {
    /// Name of the program that the part is elsewhere, as `weir-bids`.
    public let name: String
    /// It does not work just now.
    public let hasFailed: Bool

    /// States both.
    public init(_ name: String, hasFailed: Bool) {
        self.name = name
        self.hasFailed = hasFailed
    }
}
