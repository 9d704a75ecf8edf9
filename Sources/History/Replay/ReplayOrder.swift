/// A replay to run: source, target directory and options.
package struct ReplayOrder: Sendable {
    package var source: ReplaySource
    /// The data directories of the live stores.
    package var dataDirectories: [String]
    /// The directory for the new stores.
    package var directory: String
    package var range: ReplayRange
    package var mode: ReplayMode
    /// Most records of one commit; nil for the value in the stream's file. It affects nothing else.
    package var batchRecords: Int?
    /// The number of threads that verify signatures. It affects nothing else.
    package var threadCount: Int
    /// Whether it ends where the live stores have ended, and not at the end of the log.
    package var endsAtStores = false
    /// Whether progress is shown on a terminal.
    package var showsProgress: Bool

    package init(
        source: ReplaySource, dataDirectories: [String], directory: String,
        range: ReplayRange = ReplayRange(), mode: ReplayMode = .recorded,
        batchRecords: Int? = nil, threadCount: Int, showsProgress: Bool = false
    ) {
        self.source = source
        self.dataDirectories = dataDirectories
        self.directory = directory
        self.range = range
        self.mode = mode
        self.batchRecords = batchRecords
        self.threadCount = threadCount
        self.showsProgress = showsProgress
    }
}
