/// How a worker works whose ids are remembered for a window of event time.
package protocol WindowedPipeline: Equatable, Sendable {
    /// What every worker has.
    var stream: StreamSettings { get }
    /// How long an id is remembered (`dedupe_window_seconds`), 0...31,622,400.
    var dedupeWindowSeconds: Int { get }
}

extension ConfigurationMapping {
    static let windowedKeys = StreamSettings.keys + ["dedupe_window_seconds"]

    func dedupeWindowSeconds(default seconds: Int64) throws(ConfigurationError) -> Int {
        try integer("dedupe_window_seconds", in: 0...31_622_400, default: seconds).asInt
    }
}
