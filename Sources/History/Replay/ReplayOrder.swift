/// What is to be folded again: where from, into which directory, and how.
package struct ReplayOrder: Sendable {
    /// Where the records come from.
    package var source: ReplaySource
    /// The data directories of the live stores.
    package var dataDirectories: [String]
    /// The directory that the new stores go to.
    package var directory: String
    /// Where it begins and ends.
    package var range: ReplayRange
    /// Under which configuration.
    package var mode: ReplayMode
    /// Most records that are committed together; nil for what the stream's file says. Nothing else depends
    /// on it.
    package var batchRecords: Int?
    /// On how many threads signatures are verified. Nothing else depends on it.
    package var threadCount: Int
    /// Whether progress is shown on a terminal.
    package var showsProgress: Bool

    /// Takes the parts.
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
