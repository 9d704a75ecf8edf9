/// Why a worker has ended.
enum WorkerEnd {
    /// Everything that it was to do is done.
    case reachedEnd
    /// It was asked to stop.
    case stopped
    /// Something else wants the store.
    case interrupted
}
