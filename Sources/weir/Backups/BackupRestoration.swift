import DatabaseFiles
import Foundation
import Program
import Store
import Wording

/// Creates a data directory from a backup.
///
/// The files are copied to a directory beside it, and read there completely. Then this directory is renamed. So the data
/// directory has all files of a verified backup, or does not exist. The backup is not changed.
struct BackupRestoration {
    let source: BackupSource
    private let data: String
    private let work: String

    /// - Parameter data: the directory to create; it may exist if it is empty.
    init(_ source: BackupSource, data: String) throws {
        self.source = source
        let path = URL(fileURLWithPath: data).standardizedFileURL.path
        self.data = path
        work = "\(path).restoring-\(getpid())"
        guard !BackupWriter.isInside(path, source.directory) else {
            throw CommandError.usage(
                "\(path) is inside the backup \(source.directory), which must not change: give --data a directory elsewhere"
            )
        }
        try Self.requireEmpty(path)
    }

    private static func requireEmpty(_ path: String) throws(CommandError) {
        var found = stat()
        guard lstat(path, &found) == 0 else {
            guard errno == ENOENT else {
                throw .failure("cannot read \(path): \(SystemRefusal.explanation())")
            }
            return
        }
        guard found.st_mode & S_IFMT == S_IFDIR else {
            throw .failure("\(path) is not a directory: give --data the directory to create")
        }
        let content: [String]
        do {
            content = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw .failure("cannot read \(path): \(SystemRefusal.explanation(of: error))")
        }
        guard content.isEmpty else {
            throw .failure(
                "\(path) is not empty, and a restore never replaces files: stop all programs, and move it away: "
                    + ShellWords.text(["mv", path, "\(path).damaged"]))
        }
        var parent = stat()
        guard stat((path as NSString).deletingLastPathComponent, &parent) == 0,
            parent.st_dev == found.st_dev
        else {
            throw .failure(
                "\(path) is the root of a file system, which cannot be replaced at once: restore into a directory below it, then move the files up before you start a program"
            )
        }
    }

    /// Restores the files. Durable when it returns.
    ///
    /// - Parameter prepare: called with the verified files, before they are put in place.
    func run(
        show: @escaping (String) -> Void, prepare: (_ directory: String) throws -> Void = { _ in }
    ) throws {
        do {
            try FileOwner.createDirectory(work, replacing: data)
            try source.copy(to: work, show: show)
            let faults = try BackupVerification(directory: work, show: show).faults
            if let first = faults.first {
                throw CommandError.failure(
                    "\(source.name) cannot be restored: \(first.replacing("\(work)/", with: ""))"
                        + (faults.count > 1
                            ? " (and \(counted(faults.count - 1, "other fault")))" : "")
                        + ". Restore another backup. Nothing has changed")
            }
            // The list describes the backup, and the restored files change.
            try FileManager.default.removeItem(atPath: "\(work)/\(BackupManifest.fileName)")
            try prepare(work)
            try sync()
            try DurableFile.move(work, to: data)
        } catch {
            try? FileManager.default.removeItem(atPath: work)
            guard error is CocoaError else { throw error }
            throw CommandError.failure(
                "cannot restore \(data): \(SystemRefusal.explanation(of: error))")
        }
    }

    /// Makes the names of all files durable.
    private func sync() throws {
        for file in source.manifest.files {
            var path = "\(work)/\(file.name)"
            while path != work {
                try DurableFile.syncName(of: path)
                path = (path as NSString).deletingLastPathComponent
            }
        }
    }
}
