import AggregateStore
import Foundation
import GRDB

/// How far a file of what is known of installs (`conversions.sqlite`) follows its topic, read beside its
/// collector.
package struct ConversionStoreProgress: Sendable {
    /// The topic that it follows.
    package let topic: String
    /// What tells the topic's log from others.
    package let logIdentity: String
    /// The first record of each partition that is not read yet.
    package let nextOffsets: [Int32: Int64]

    /// Name of the file in a data directory.
    package static let fileName = "conversions.sqlite"

    /// Reads a file that exists; nil for one that nothing was written to yet.
    package init?(path: String) throws(StoreError) {
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(10)
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            let found = try queue.read { db -> (Row, [Row])? in
                guard try db.tableExists("partitions"),
                    let log = try Row.fetchOne(db, sql: "SELECT topic, log_identity FROM log")
                else { return nil }
                return (
                    log, try Row.fetchAll(db, sql: "SELECT partition, next_offset FROM partitions")
                )
            }
            guard let (log, partitions) = found else { return nil }
            topic = log["topic"]
            logIdentity = log["log_identity"]
            nextOffsets = partitions.reduce(into: [:]) { $0[$1["partition"]] = $1["next_offset"] }
        } catch {
            throw StoreError(error, operation: "read", path: path)
        }
    }
}
