import Foundation

/// Reads small configuration files: regular files only, so that a FIFO or a device is an error and never blocks.
package enum RegularFile {
    /// The bytes of a file, up to `maxBytes`.
    ///
    /// - Throws: `RegularFileError`; its description continues a sentence that begins with the file's name.
    package static func contents(
        of path: String, maxBytes: Int = 16 << 20
    ) throws(RegularFileError) -> Data {
        // Without `O_NONBLOCK`, opening a FIFO without a writer would block.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw .unreadable(errno) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var found = stat()
        guard fstat(descriptor, &found) == 0 else { throw .unreadable(errno) }
        guard found.st_mode & S_IFMT == S_IFREG else { throw .notRegular(found.st_mode & S_IFMT) }
        let bytes: Data
        do {
            bytes = try file.read(upToCount: maxBytes + 1) ?? Data()
        } catch {
            throw .unreadable(EIO)
        }
        guard bytes.count <= maxBytes else { throw .tooLarge(maxBytes) }
        return bytes
    }

    package static func text(of path: String) throws(RegularFileError) -> String {
        guard let text = String(validating: try contents(of: path), as: UTF8.self) else {
            throw .notText
        }
        return text
    }
}

package enum RegularFileError: Error, Equatable, CustomStringConvertible {
    /// The error number of the operating system.
    case unreadable(Int32)
    /// The file's mode, which contains its kind.
    case notRegular(mode_t)
    case tooLarge(Int)
    case notText

    package var description: String {
        switch self {
        case .unreadable(let number):
            "cannot be read (\(String(cString: strerror(number)))): allow this user to read it"
        case .notRegular(let kind):
            "is not a regular file but \(Self.name(of: kind)): put a file in its place"
        case .tooLarge(let bytes): "is larger than \(bytes) bytes: check that it is the right file"
        case .notText: "is not UTF-8: save it as UTF-8"
        }
    }

    private static func name(of kind: mode_t) -> String {
        switch kind {
        case S_IFDIR: "a directory"
        case S_IFIFO: "a FIFO"
        case S_IFSOCK: "a socket"
        default: "a device"
        }
    }
}
