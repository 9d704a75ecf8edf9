import GRDB
import Streams

/// What was folded under which configuration.
extension StoreSnapshot {
    /// The configuration that a partition's last record was folded under; nil when none was folded. One that
    /// came in force later, and under which nothing was folded, never was.
    package func configurationOfLastRecord(
        of partition: PartitionState
    ) throws -> FoldConfiguration? {
        try epochs(of: partition.partition)
            .last { $0.fromOffset < partition.nextOffset }?.configuration
    }

    /// The hours in which a partition has accepted postbacks of an app.
    package func hours(ofPostbacksOfApp app: Int64, partition: Int32) throws -> [Hour] {
        try String.fetchAll(
            db,
            sql: "SELECT DISTINCT hour FROM postbacks_keys WHERE partition = ? AND app_id = ?",
            arguments: [partition, app]
        ).map { text in
            // Years of more than four digits come after every version.
            UTC.milliseconds(text: text).map(Hour.init(containing:))
                ?? Hour(hoursSince1970: .max)
        }
    }
}

extension AggregateStore {
    /// Calls `body` with the state of the store as it is, for reading.
    package func snapshot<Result>(
        _ body: (StoreSnapshot) throws -> Result
    ) throws(StoreError) -> Result {
        try read { try body(StoreSnapshot($0, path: path)) }
    }
}
