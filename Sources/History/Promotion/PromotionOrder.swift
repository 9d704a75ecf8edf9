import Wording

/// The set of stores to put in force.
package struct PromotionOrder: Sendable {
    package enum Target: Equatable, Sendable {
        /// The one in this directory.
        case directory(String)
        /// Those in these directories, of different streams, which an upgrade has made.
        case upgraded([String])
        /// The one before the present one.
        case back
    }

    package var data: String
    package var target: Target
    /// The source of records that the set has not folded yet.
    package var source: ReplaySource
    /// Whether it may hold less than the present one.
    package var acceptsLostHistory: Bool
    /// The number of threads that verify signatures.
    package var threadCount: Int
    /// Whether to send corrections afterwards; with `back` right after a rollback, those of the rollback.
    package var sendsCorrections: Bool
    /// The time for workers to release their stores, in seconds.
    package var patienceSeconds: Int

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

/// The steps of a promotion: if it is stopped after any of them, either the old set or the new one is in force.
package enum PromotionStep: CaseIterable, Sendable {
    /// Workers were asked to release their stores.
    case requested
    /// They have released them.
    case given
    /// The new stores have reached the progress of the old ones.
    case caughtUp
    /// Everything that the old stores had not noted as published is published.
    case published
    /// Everything published counts as published for the new stores.
    case takenOver
    /// The corrections are written.
    case corrected
    /// The new set is in force.
    case switched
}

/// A replacement of a store.
package struct PromotedStream: Equatable, Sendable {
    package var stream: String
    /// The directory of the store that is, or was, in force.
    package var from: String
    /// The directory of the store that replaces it.
    package var to: String
    /// Records that the new store must fold, or had to fold, to reach the progress of the old one.
    package var behind: Int64
    /// Erased records that the new store lacks and the present one has counted.
    package var erased: Int64 = 0
    /// Why the worker will reject it under the present configuration; nil if it will not.
    package var refusal: String?

    /// What the new store lacks because records were erased; nil if nothing.
    package var erasedWarning: String? {
        guard erased > 0 else { return nil }
        return
            "warning: \(stream): \(counted(erased, "record")) \(erased == 1 ? "was" : "were") erased, so the numbers of \(to) lack what those of \(from) contain"
    }

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
