import Foundation

/// A file that only its owner reads.
enum SecretFile {
    /// Makes it, and the directories that it lies in. Throws when it is there already.
    static func make(_ text: String, at path: String) throws(CommandError) {
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw .failure("cannot make the directory \(directory): let this user write there")
        }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let words = String(cString: strerror(errno))
            throw .failure(
                "cannot make \(path): \(words): give --out another file, or remove this one")
        }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0 else {
            throw .failure("cannot write \(path): \(String(cString: strerror(errno)))")
        }
    }
}
