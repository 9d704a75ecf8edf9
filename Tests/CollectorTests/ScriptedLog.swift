import EmbeddedLog
import EventLog
import Foundation
import Synchronization
import TestKit

/// A log whose appends fail, hang or are counted as a test says; whatever else is asked of it goes to the
/// log that it stands before.
///
/// `@unchecked Sendable`: `script` guards what changes, the log itself is used by one thread.
final class ScriptedLog: LogBackend, @unchecked Sendable {
    struct Script {
        var fault: LogError?
        /// How long an append hangs, unless this is set to 0 meanwhile.
        var hangSeconds = 0.0
        /// How many records each append that was tried had.
        var appends: [Int] = []
        var openedWriters = 0
    }

    let log: EmbeddedLog
    let script = Mutex(Script())

    init(_ log: EmbeddedLog) { self.log = log }

    var address: String { log.address }
    func topics() throws(LogError) -> [TopicDescription] { try log.topics() }
    func settings(ofTopic name: String) throws(LogError) -> [String: String]? { nil }
    func createTopic(
        _ name: String, partitionCount: Int32, settings: [String: String]
    ) throws(LogError) -> Bool {
        try log.createTopic(name, partitionCount: partitionCount, settings: settings)
    }
    func reader(topic: String, group: String?) throws(LogError) -> any LogReader {
        try log.reader(topic: topic, group: group)
    }
    func writer() throws(LogError) -> any LogWriter {
        script.withLock { $0.openedWriters += 1 }
        return Writer(log: self, writer: try log.writer())
    }

    private final class Writer: LogWriter {
        let log: ScriptedLog
        let writer: any LogWriter

        init(log: ScriptedLog, writer: any LogWriter) {
            self.log = log
            self.writer = writer
        }

        func append(
            _ records: [OutgoingRecord], while _: () -> Bool
        ) throws(LogError) -> [RecordPosition] {
            let script = log.script.withLock { script in
                script.appends.append(records.count)
                return (fault: script.fault, hangSeconds: script.hangSeconds)
            }
            if script.hangSeconds > 0 {
                Wait.until(seconds: script.hangSeconds) {
                    log.script.withLock { $0.hangSeconds == 0 }
                }
            }
            if let fault = script.fault { throw fault }
            return try writer.append(records)
        }
    }
}
