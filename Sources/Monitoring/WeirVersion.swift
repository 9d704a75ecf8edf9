/// The version of these programs.
package enum WeirVersion {
    /// Semantic version; the newest in CHANGELOG.md.
    package static let current = "0.1.0"
}
