import EventLog

/// Asks a log for the settings of topics, until it once does not answer: each further question to a
/// cluster that cannot tell would wait in vain, too.
struct TopicSettings {
    /// The log that is asked.
    let log: any LogBackend
    private var failure: LogError?

    init(of log: any LogBackend) {
        self.log = log
    }

    /// The settings of a topic; nil where the log has none.
    mutating func ask(_ topic: String) throws(LogError) -> [String: String]? {
        if let failure { throw failure }
        do throws(LogError) {
            return try log.settings(ofTopic: topic)
        } catch {
            failure = error
            throw error
        }
    }
}
