/// The configuration of a replay.
package enum ReplayMode: String, CaseIterable, Codable, Sendable {
    /// Those recorded by the live stores, each from the offset from which it was in force.
    case recorded
    /// The present one for all records.
    case present
}
