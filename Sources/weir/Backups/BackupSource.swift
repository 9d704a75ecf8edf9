import DatabaseFiles
import Foundation
import Program
import Store
import Wording

/// A backup to verify or to restore.
enum BackupSource {
    /// A directory with all files.
    case full(directory: String, BackupManifest)
    case incremental(BackupRepository, name: String, BackupManifest)

    /// - Parameter name: of an incremental backup; nil for the newest.
    init(_ directory: String, at name: String?) throws {
        let repository = BackupRepository(directory)
        if repository.isThere {
            let name = try repository.name(at: name)
            self = .incremental(repository, name: name, try repository.manifest(named: name))
            return
        }
        guard name == nil else {
            throw CommandError.usage(
                "--at is for directories of incremental backups, and \(directory) is none: leave it out"
            )
        }
        self = .full(directory: directory, try BackupManifest(directory: directory))
    }

    var manifest: BackupManifest {
        switch self {
        case .full(_, let manifest), .incremental(_, _, let manifest): manifest
        }
    }

    /// The directory that contains the backup.
    var directory: String {
        switch self {
        case .full(let directory, _): directory
        case .incremental(let repository, _, _): repository.path
        }
    }

    /// What the backup is called in errors.
    var name: String {
        switch self {
        case .full(let directory, _): directory
        case .incremental(let repository, let name, _): repository.listPath(name)
        }
    }

    /// Copies the files to a new directory, with `backup.json`. Each copy is durable. Throws for a missing or damaged
    /// part; `BackupVerification` of the copy finds everything else.
    func copy(to directory: String, show: (String) -> Void) throws {
        for file in manifest.files {
            show("copying \(file.name) ...")
            let path = "\(directory)/\(file.name)"
            try FileOwner.createDirectory((path as NSString).deletingLastPathComponent)
            try NewFile.write(path) { write in
                switch self {
                case .full(let source, _):
                    guard let original = FileHandle(forReadingAtPath: "\(source)/\(file.name)")
                    else {
                        throw CommandError.failure(
                            "cannot read \(source)/\(file.name): \(SystemRefusal.explanation()). weir backup verify names all faults of the backup"
                        )
                    }
                    defer { try? original.close() }
                    while let piece = try original.read(upToCount: 1 << 20), !piece.isEmpty {
                        try write(piece)
                    }
                case .incremental(let repository, let name, _):
                    for part in file.parts ?? [] {
                        do {
                            try write(try repository.part(part))
                        } catch let fault as PartFault {
                            throw CommandError.failure(
                                repository.explanation(
                                    of: fault, in: PartUse(file: file.name, backup: name)))
                        }
                    }
                }
            }
        }
        var manifest = manifest
        for index in manifest.files.indices { manifest.files[index].parts = nil }
        try DurableFile.replace(
            "\(directory)/\(BackupManifest.fileName)", with: manifest.encoded())
    }
}

/// Verifies the backups of a directory of incremental ones.
struct RepositoryVerification {
    private(set) var faults: [String] = []
    /// The names of the backups with undamaged lists.
    private(set) var names: [String] = []
    /// The backup that was read completely; nil if none was.
    private(set) var complete: (name: String, manifest: BackupManifest)?

    /// Compares all parts of the backups with their SHA-256, each once. Then reads one backup completely, from a
    /// temporary copy in the directory.
    ///
    /// - Parameters:
    ///   - given: the name of one backup; nil for all of them, of which the newest is read completely.
    ///   - isQuick: reads none completely.
    init(
        _ repository: BackupRepository, at given: String?, isQuick: Bool,
        show: @escaping (String) -> Void
    ) throws {
        let newest = try repository.name(at: given)
        var uses: [String: PartUse] = [:]
        for name in try given.map({ [$0] }) ?? repository.names() {
            do throws(CommandError) {
                let manifest = try repository.manifest(named: name)
                for file in manifest.files {
                    for part in file.parts ?? [] {
                        uses[part, default: PartUse(file: file.name, backup: name)].add(name)
                    }
                }
                names.append(name)
                if name == newest { complete = (name, manifest) }
            } catch {
                faults.append(error.explanation ?? repository.listPath(name))
            }
        }
        for (index, (part, use)) in uses.sorted(by: { $0.key < $1.key }).enumerated() {
            if index.isMultiple(of: 64) { show("checking parts: \(index * 100 / uses.count) %") }
            do throws(PartFault) {
                _ = try repository.part(part)
            } catch {
                faults.append(repository.explanation(of: error, in: use))
            }
        }
        guard faults.isEmpty, !isQuick, let complete else { return }
        try read(complete.name, of: repository, show: show)
    }

    private mutating func read(
        _ name: String, of repository: BackupRepository, show: @escaping (String) -> Void
    ) throws {
        let work = repository.workPath
        try FileOwner.createDirectory(work)
        defer { try? FileManager.default.removeItem(atPath: work) }
        try BackupSource(repository.path, at: name).copy(to: work, show: show)
        let verification = try BackupVerification(directory: work, show: show)
        faults = verification.faults.map { "\(name): \($0.replacing("\(work)/", with: ""))" }
    }
}

/// The backups with a part.
struct PartUse {
    /// The first of its files.
    let file: String
    let backup: String
    private var last: String
    private var others = 0

    init(file: String, backup: String) {
        self.file = file
        self.backup = backup
        last = backup
    }

    mutating func add(_ name: String) {
        if name != last { others += 1 }
        last = name
    }

    var explanation: String {
        "\(file) of \(backup)" + (others > 0 ? " and to \(counted(others, "other backup"))" : "")
    }
}

extension BackupRepository {
    /// An error for a part, with the files that have it and what to do.
    func explanation(of fault: PartFault, in use: PartUse) -> String {
        "\(fault): it belongs to \(use.explanation). Delete the file if it exists, and back up again: the next backup writes it again if the data still contain it"
    }
}

/// A file that is written once, from beginning to end.
enum NewFile {
    /// Durable when it returns, except for its name in the directory.
    static func write(_ path: String, _ body: ((Data) throws -> Void) throws -> Void) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        func failure(_ number: Int32) -> CommandError {
            .failure("cannot write \(path): \(SystemRefusal.explanation(number))")
        }
        guard descriptor >= 0 else { throw failure(errno) }
        defer { close(descriptor) }
        FileOwner.adopt(path)
        try body { bytes in
            let fault = bytes.withUnsafeBytes { StandardStream.write($0, to: descriptor) }
            if let fault { throw failure(fault) }
        }
        guard fsync(descriptor) == 0 else { throw failure(errno) }
    }
}
