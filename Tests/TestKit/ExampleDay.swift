import EmbeddedLog
import Engine
import EventLog
import Foundation
import Program
import Reports
import Streams

/// The records of `examples/day`: one day of every stream but costs. Pages publish them too.
package enum ExampleDay {
    private static let streams = [
        "bids", "impressions", "overlay-clicks", "postbacks", "store-notifications",
        "conversion-updates",
    ]

    /// All records by topic.
    package static func all() throws -> [(topic: String, records: [OutgoingRecord])] {
        try streams.map { ($0, try records(of: $0)) }
    }

    package static func records(of topic: String) throws -> [OutgoingRecord] {
        let lines = try Data(
            contentsOf: Repository.root.appending(path: "examples/day/\(topic).ndjson"))
        return try lines.split(separator: UInt8(ascii: "\n")).map { line in
            try line.withUnsafeBytes {
                try RecordLine.record($0, topic: topic, partitionCount: .max)
            }
        }
    }

    /// Publishes the records to an embedded log in `data`, and folds them there with the configuration of the
    /// repository. The topics have the partitions that `topics/` describes.
    package static func fold(into data: String) throws {
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        let path = "\(data)/log.sqlite"
        let log = try EmbeddedLog(path: path, mode: .create)
        for stream in allStreams { try log.createTopic(stream.streamName, partitionCount: 4) }
        for (_, records) in try all() { try log.writer().append(records) }
        let options = WorkerOptions(
            log: .sqlite(path: path), data: data, pipelines: Repository.path("pipelines"),
            untilEnd: true)
        for stream in allStreams { try stream.work(options, stop: StopSignal()) }
    }
}
