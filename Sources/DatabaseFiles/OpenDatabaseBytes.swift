import Foundation

/// The bytes of a database that this process may have open.
///
/// SQLite's locks belong to the process and the file: they end when the process closes any descriptor of the file. Then
/// another process could truncate what this one has mapped. So these descriptors stay open until the process ends.
package enum OpenDatabaseBytes {
    /// Whether a file contains one of the texts. False for a file that cannot be read.
    package static func contain(_ texts: Set<String>, at path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        let overlap = max(0, (texts.map(\.utf8.count).max() ?? 0) - 1)
        var window = Data()
        while let piece = try? file.read(upToCount: 1 << 20), !piece.isEmpty {
            window += piece
            if texts.contains(where: { window.range(of: Data($0.utf8)) != nil }) { return true }
            window = Data(window.suffix(overlap))
        }
        return false
    }
}
