/// What a store folds.
public struct StoreOrigin: Equatable, Sendable {
    /// Name of the topic.
    public var topic: String
    /// What told the log, or the topic in it, from others when the store began.
    public var logIdentity: String
    /// How many partitions the topic had.
    public var partitionCount: Int32
}
