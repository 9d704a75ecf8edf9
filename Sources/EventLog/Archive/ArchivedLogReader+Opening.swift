extension ArchivedLogReader {
    /// Puts the archive in a file before a reader that was not subscribed yet. Throws `badArchive` when
    /// it is not there or does not fit.
    package convenience init(path: String, before live: any LogReader) throws(LogError) {
        let archive: EmbeddedLog
        do throws(LogError) {
            archive = try EmbeddedLog(path: path, mode: .existing)
        } catch {
            switch error {
            case .noLog(let address):
                throw .badArchive(
                    address: address, detail: "is not there: write it with weir archive")
            case .emptyLog(let address):
                throw .badArchive(address: address, detail: "is empty: write it with weir archive")
            default: throw error
            }
        }
        try self.init(archive, before: live)
    }
}
