extension ArchivedLogReader {
    /// Puts the archive in a file before a reader that was not subscribed yet. Throws `badArchive` when
    /// it is not there or does not fit.
    public convenience init(path: String, before live: any LogReader) throws(LogError) {
        let archive: EmbeddedLog
        do throws(LogError) {
            archive = try EmbeddedLog(path: path, mode: .existing)
        } catch {
            guard case .noLog(let address) = error else { throw error }
            throw .badArchive(address: address, detail: "is not there: write it with weir archive")
        }
        try self.init(archive, before: live)
    }
}
