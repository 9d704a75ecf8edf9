/// Paths of the files that are part of every program: `built-in:pipelines/bids.yaml`. They are valid wherever the
/// path of a configuration, or of descriptions of topics, is.
package enum BuiltInPath {
    package static let pipelines = prefix + "pipelines"
    package static let topics = prefix + "topics"

    private static let prefix = "built-in:"

    /// The path within the repository, without repeated or final slashes; nil for a path on disk.
    package static func inRepository(_ path: String) -> String? {
        guard path.hasPrefix(prefix) else { return nil }
        return path.dropFirst(prefix.count).split(separator: "/").joined(separator: "/")
    }
}
