import EventLog

/// A log that passes every call to another one, except those that a test replaces.
package final class WrappedLog: LogBackend {
    package typealias Settings = (String) throws(LogError) -> [String: String]?
    package typealias Writer = (any LogWriter) -> any LogWriter

    private let log: any LogBackend
    private let settings: Settings?
    private let wrap: Writer

    /// - Parameters:
    ///   - settings: of topics, instead of those of the log.
    ///   - writer: makes a writer from one of the log.
    package init(
        _ log: any LogBackend, settings: Settings? = nil, writer: @escaping Writer = { $0 }
    ) {
        self.log = log
        self.settings = settings
        wrap = writer
    }

    package var address: String { log.address }

    package func topics() throws(LogError) -> [TopicDescription] { try log.topics() }

    package func createTopic(
        _ name: String, partitionCount: Int32, settings: [String: String]
    ) throws(LogError) -> Bool {
        try log.createTopic(name, partitionCount: partitionCount, settings: settings)
    }

    package func settings(ofTopic name: String) throws(LogError) -> [String: String]? {
        if let settings { return try settings(name) }
        return try log.settings(ofTopic: name)
    }

    package func reader(topic: String, group: String?) throws(LogError) -> any LogReader {
        try log.reader(topic: topic, group: group)
    }

    package func writer() throws(LogError) -> any LogWriter { wrap(try log.writer()) }
}
