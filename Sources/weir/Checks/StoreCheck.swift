import AggregateStore
import EventLog
import Foundation
import Inspection
import Streams

/// Checks one store: that it opens, and that it goes on where the log does.
struct StoreCheck {
    let stream: String
    let path: String

    /// Of so many last hours the log is compared with what was folded.
    private static let hours = 100

    /// The store of a stream; nil when there is none in the directory.
    init?(_ stream: String, in directory: String) throws(StoreError) {
        self.stream = stream
        path = try StoreSet.path(of: stream, in: directory)
        guard FileManager.default.fileExists(atPath: path) else { return nil }
    }

    /// Opens the store and compares it with the log, where there is one.
    func run(_ log: (any LogBackend)?, topic configured: String?, into report: inout CheckReport) {
        do {
            let reader = try StoreReader(path: path)
            guard reader.stream == stream else {
                throw StoreError.otherStream(path: path, found: reader.stream, wanted: stream)
            }
            let (origin, states) = try reader.snapshot {
                (($0.topic, $0.logIdentity), try $0.partitionStates())
            }
            let (topic, identity) = origin
            let records = states.reduce(0) { $0 + $1.records }
            let faults =
                try topicFaults(topic, configured)
                + (log.map {
                    try LogOrigin(topic: topic, identity: identity).faults(
                        of: states.map { ($0.partition, $0.nextOffset) }, in: $0,
                        rungs: { partition, earliest in
                            try reader.snapshot { snapshot in
                                try states.filter { $0.partition == partition }.flatMap {
                                    try snapshot.rungs(of: $0, from: earliest, hours: Self.hours)
                                }
                            }
                        })
                } ?? [])
            for fault in faults { report.note(wrong: "\(path): \(fault)") }
            guard faults.isEmpty else { return }
            report.note(
                right: "store \(path): \(records) records of \(topic) in \(states.count) partitions"
            )
        } catch {
            report.note(wrong: "\(error)")
        }
    }

    private func topicFaults(_ topic: String, _ configured: String?) -> [String] {
        guard let configured, configured != topic else { return [] }
        return [
            "it folds topic \(topic), and \(stream).yaml says \(configured): give --data another "
                + "directory, or mend \(stream).yaml"
        ]
    }
}
