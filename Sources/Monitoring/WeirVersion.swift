/// The version of these programs.
public enum WeirVersion {
    /// Semantic version; the newest in CHANGELOG.md.
    public static let current = "0.1.0"
}
