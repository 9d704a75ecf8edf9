/// What a store folds.
package struct StoreOrigin: Equatable, Sendable {
    /// Name of the topic.
    package var topic: String
    /// What told the log, or the topic in it, from others when the store began.
    package var logIdentity: String
    /// How many partitions the topic had.
    package var partitionCount: Int32
}
