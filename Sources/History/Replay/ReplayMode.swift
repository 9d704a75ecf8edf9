/// Under which configuration a replay folds.
package enum ReplayMode: String, CaseIterable, Codable, Sendable {
    /// The ones that the live stores have recorded, each from the offset on from which it was in force.
    case recorded
    /// The present one, for everything.
    case present
}
