/// What a user of an app did, as it is to be told by a conversion value.
package struct ConversionState: Equatable, Sendable {
    /// How often each event happened, by name; 0 where absent.
    package var eventCounts: [String: Int64]
    /// Revenue by event, in micros of the version's currency; a revenue field reads the event that
    /// it names (`revenue` by default). 0 where absent.
    package var revenueMicros: [String: Int64]
    /// Day since the install, from 0.
    package var day: Int
    /// Names of the flags that are set.
    package var flags: Set<String>

    /// A state; nothing happened unless told.
    package init(
        eventCounts: [String: Int64] = [:],
        revenueMicros: [String: Int64] = [:],
        day: Int = 0,
        flags: Set<String> = []
    ) {
        self.eventCounts = eventCounts
        self.revenueMicros = revenueMicros
        self.day = day
        self.flags = flags
    }
}

/// Why a state has no conversion value.
package enum EncodingFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// A count, an amount or the day is below zero; the name says which.
    case negative(String)
    /// No value of the version contains the state.
    case noValueFits(version: String)
    /// The version has no coarse values for this window.
    case noCoarseValues(version: String, sequenceIndex: Int)

    /// One line: what, where, and what to do.
    package var description: String {
        switch self {
        case .negative(let name):
            "'\(name)' is negative: a state counts from 0"
        case .noValueFits(let version):
            "no value of version '\(version)' contains this state: leave a number of each field"
                + " unlisted, to say nothing"
        case .noCoarseValues(let version, let index):
            "version '\(version)' has no coarse values for window \(index): add them to the model"
        }
    }
}
