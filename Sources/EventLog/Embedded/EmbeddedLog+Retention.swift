import GRDB

extension EmbeddedLog {
    /// The first offset of a partition from which on keys, headers and values add up to at most so many
    /// bytes; the end of the partition when not even the last record does.
    ///
    /// Throws `unknownTopic` or `unknownPartition`.
    package func offset(
        topic: String, partition: Int32, keepingBytes limit: Int64
    ) throws(LogError) -> Int64 {
        try connection.reading("read", address) { db in
            let row = try EmbeddedPartition.find(
                db, topic: topic, partition: partition, address: address)
            // Lengths of columns are read without the pages that the bytes overflow to.
            let sizes = try Row.fetchCursor(
                db,
                sql: """
                    SELECT position & ?, coalesce(length(key), 0) + coalesce(length(headers), 0)
                      + coalesce(length(value), 0)
                    FROM records WHERE position >= ? AND position < ? ORDER BY position DESC
                    """,
                arguments: [
                    EmbeddedSchema.offsetLimit - 1,
                    EmbeddedSchema.position(ref: row.ref, offset: row.earliestOffset),
                    EmbeddedSchema.position(ref: row.ref, offset: row.endOffset),
                ])
            var sum: Int64 = 0
            while let size = try sizes.next() {
                sum += size[1] as Int64
                if sum > limit { return (size[0] as Int64) + 1 }
            }
            return row.earliestOffset
        }
    }

    /// What the consumer groups of a topic have committed: by group, then by partition.
    package func groupOffsets(ofTopic topic: String) throws(LogError) -> [String: [Int32: Int64]] {
        try connection.reading("read", address) { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT consumer_group, partition, next_offset FROM topics
                    JOIN partitions ON topic_id = id JOIN group_offsets USING (ref)
                    WHERE name = ?
                    """,
                arguments: [topic]
            ).reduce(into: [:]) { groups, row in
                groups[row["consumer_group"], default: [:]][row["partition"]] = row["next_offset"]
            }
        }
    }
}
