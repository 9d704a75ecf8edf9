/// Which set of stores is to be in force from now on.
package struct PromotionOrder: Sendable {
    /// Which set.
    package enum Target: Equatable, Sendable {
        /// The one in this directory.
        case directory(String)
        /// The one before the present one.
        case back
    }

    /// The data directory.
    package var data: String
    /// Which set.
    package var target: Target
    /// Where the records come from that the set has not folded yet.
    package var source: ReplaySource
    /// Whether it may hold less than the present one.
    package var acceptsLostHistory: Bool
    /// On how many threads signatures are verified.
    package var threadCount: Int
    /// Whether to send corrections afterwards; with `back` right after a roll-back, those of the roll-back.
    package var sendsCorrections: Bool
    /// How long workers may take to give their stores up, in seconds.
    package var patienceSeconds: Int

    /// Takes the parts.
    package init(
        data: String, target: Target, source: ReplaySource, acceptsLostHistory: Bool = false,
        sendsCorrections: Bool = false, threadCount: Int, patienceSeconds: Int = 120
    ) {
        self.data = data
        self.target = target
        self.source = source
        self.acceptsLostHistory = acceptsLostHistory
        self.sendsCorrections = sendsCorrections
        self.threadCount = threadCount
        self.patienceSeconds = patienceSeconds
    }
}

/// What a promotion does one after the other: stopped behind any of it, the old set is in force or the new
/// one.
package enum PromotionStep: CaseIterable, Sendable {
    /// Workers were asked to give their stores up.
    case requested
    /// They have.
    case given
    /// The new stores are as far as the old ones.
    case caughtUp
    /// What the old stores had not noted as published is published.
    case published
    /// What was published counts as published for the new stores.
    case takenOver
    /// The corrections are written.
    case corrected
    /// The new set is in force.
    case switched
}

/// A store that takes the place of another.
package struct PromotedStream: Equatable, Sendable {
    /// Name of the stream.
    package var stream: String
    /// The directory of the store that is, or was, in force.
    package var from: String
    /// The directory of the one that takes its place.
    package var to: String
    /// Records that the new store has, or had, to fold to be as far as the old one.
    package var behind: Int64
    /// Why the worker will refuse to go on with it under the present configuration; nil when it will not.
    package var refusal: String?

    /// Describes a change.
    package init(
        stream: String, from: String, to: String, behind: Int64, refusal: String? = nil
    ) {
        self.stream = stream
        self.from = from
        self.to = to
        self.behind = behind
        self.refusal = refusal
    }
}
