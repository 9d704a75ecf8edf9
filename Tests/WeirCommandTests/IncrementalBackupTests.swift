import Crypto
import EmbeddedLog
import Engine
import EventLog
import Foundation
import Program
import Reports
import Store
import Streams
import TestKit
import Testing

@testable import weir

@Suite("Incremental backups")
struct IncrementalBackupTests {
    private let workspace: TemporaryDirectory
    private let log: EmbeddedLog
    private let data: String
    private let repository: BackupRepository

    init() throws {
        workspace = try TemporaryDirectory()
        data = "\(workspace.path)/data"
        log = try EmbeddedLog(path: "\(data)/log.sqlite", mode: .create)
        repository = BackupRepository("\(workspace.path)/backups")
        try log.createTopic("bids", partitionCount: 4)
    }

    private func publish(_ count: Int, seed: UInt64) throws {
        try log.writer().append(Samples.bids(count, seed: seed))
    }

    private func fold(_ data: String) throws {
        try BidsFold.work(
            WorkerOptions(
                log: .sqlite(path: "\(data)/log.sqlite"), data: data,
                pipelines: Repository.path("pipelines"), untilEnd: true), stop: StopSignal())
    }

    @discardableResult
    private func backUp(onParts: () throws -> Void = {}) throws -> AddedBackup {
        try repository.backUp(
            data, logPath: "\(data)/log.sqlite", show: { _ in }, onParts: onParts
        ).0
    }

    private func faults(at name: String? = nil) throws -> [String] {
        try RepositoryVerification(repository, at: name, isQuick: false) { _ in }.faults
    }

    private func restore(_ name: String?, to directory: String) throws -> String {
        let path = "\(workspace.path)/\(directory)"
        try BackupRestoration(BackupSource(repository.path, at: name), data: path)
            .run { _ in }
        return path
    }

    private func content(_ path: String) throws -> [String: String] {
        var found: [String: String] = [:]
        for name in FileManager.default.subpaths(atPath: path) ?? []
        where !name.hasSuffix(".lock") && name != BackupManifest.fileName {
            found[name] = try BackupManifest.hash("\(path)/\(name)").sha256
        }
        return found
    }

    /// The only entries of the directory: no temporary files.
    private func entries() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: repository.path).sorted()
    }

    @Test(
        "a backup writes only the parts that have changed, and each of them is restored byte for byte"
    )
    func growing() throws {
        // Months of history, compared with the records of a day.
        try log.createTopic("history", partitionCount: 1)
        var generator = SeededGenerator(seed: 9)
        try log.writer().append(
            (0..<64).map { _ in
                OutgoingRecord(
                    topic: "history", partition: 0, key: nil,
                    value: (0..<65_536).map { _ in UInt8.random(in: 0...255, using: &generator) })
            })
        try publish(6000, seed: 1)
        try fold(data)
        let first = try backUp()
        #expect(first.newParts > 20 && first.newParts <= first.parts)
        let same = try backUp()
        #expect(same.newParts == 0, "nothing has changed")
        #expect(same.name > first.name)
        try publish(60, seed: 2)
        try fold(data)
        let second = try backUp()
        #expect(second.newParts > 0)
        #expect(
            second.newParts * 4 < second.parts,
            "\(second.newParts) of \(second.parts) parts for one percent of the records")
        #expect(try faults() == [])
        #expect(try repository.names() == [first.name, same.name, second.name])

        var writer = try BackupWriter(
            data: data, logPath: "\(data)/log.sqlite", target: "\(workspace.path)/full"
        ) { _ in }
        let full = try writer.write()
        #expect(try content(restore(nil, to: "newest")) == content("\(workspace.path)/full"))
        #expect(full.digest == second.manifest.digest)
        let earlier = try restore(first.name, to: "earlier")
        #expect(
            try OpenStores(directories: [earlier]).digest() == first.manifest.digest)
        #expect(first.manifest.digest != second.manifest.digest)
    }

    @Test("a restored machine continues, and comes to the digest of one that was never lost")
    func continues() throws {
        try publish(500, seed: 1)
        try fold(data)
        try publish(20, seed: 2)
        try backUp()
        let restored = try restore(nil, to: "restored")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: workspace.path).sorted()
                == ["backups", "data", "restored"])
        let rest = Samples.bids(300, seed: 3)
        for directory in [data, restored] {
            try EmbeddedLog(path: "\(directory)/log.sqlite", mode: .existing).writer().append(rest)
            try fold(directory)
        }
        #expect(
            try OpenStores(directories: [restored]).digest()
                == OpenStores(directories: [data]).digest())
        #expect(try faults() == [], "restoring has left the backup as it was")
    }

    @Test("killed between parts and list, a backup is not listed, and the next one uses its parts")
    func killed() throws {
        try publish(2000, seed: 1)
        try fold(data)
        #expect(throws: Crash.self) { try backUp { throw Crash() } }
        #expect(try repository.names() == [])
        #expect(throws: CommandError.self) { try faults() }
        #expect(try entries() == ["parts", "parts.lock"])
        // What a process leaves that has no time to clean up.
        try FileManager.default.createDirectory(
            atPath: "\(repository.path)/work-1.new-1", withIntermediateDirectories: true)
        let next = try backUp()
        #expect(next.newParts == 0)
        #expect(try entries() == [next.name + ".json", "parts", "parts.lock"])
        #expect(try faults() == [])
    }

    @Test("a damaged or missing part is named with file and backup, and the next backup heals it")
    func damagedPart() throws {
        try publish(500, seed: 1)
        try fold(data)
        let first = try backUp()
        let second = try backUp()
        let file = try #require(first.manifest.files.first { $0.name == "bids.sqlite" })
        let part = repository.partPath(try #require(file.parts?.last))
        let bytes = try Data(contentsOf: URL(fileURLWithPath: part))
        var changed = bytes
        changed[changed.count / 2] ^= 1
        try changed.write(to: URL(fileURLWithPath: part))
        let fault = "it belongs to bids.sqlite of \(first.name) and to 1 other backup. "
        var found = try faults()
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("\(part) is damaged: \(fault)") == true, "\(found)")
        #expect(try faults(at: second.name).count == 1)
        #expect {
            try restore(first.name, to: "restored")
        } throws: {
            ($0 as? CommandError)?.explanation?.contains("bids.sqlite of \(first.name)") == true
        }
        #expect(!FileManager.default.fileExists(atPath: "\(workspace.path)/restored"))
        try FileManager.default.removeItem(atPath: part)
        found = try faults()
        #expect(found.first?.hasPrefix("\(part) is missing: \(fault)") == true, "\(found)")
        let third = try backUp()
        #expect(third.newParts == 1)
        #expect(try faults() == [])
    }

    @Test(
        "a damaged list is named, other backups stay usable, and nothing is deleted that it may need"
    )
    func damagedList() throws {
        try publish(100, seed: 1)
        try fold(data)
        let first = try backUp()
        try publish(100, seed: 2)
        let second = try backUp()
        let path = repository.listPath(second.name)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        try bytes.dropLast(9).write(to: URL(fileURLWithPath: path))
        #expect(try faults().first?.hasPrefix("\(path) is damaged") == true)
        #expect(try faults(at: first.name) == [])
        #expect(throws: CommandError.self) { try repository.prune(keeping: 1) }
        #expect(try repository.names().count == 2)
        _ = try restore(first.name, to: "restored")
        try FileManager.default.removeItem(atPath: path)
        #expect(try repository.prune(keeping: 1).names == [])
        #expect(try faults() == [])
    }

    @Test("old backups are deleted with the parts that no other has")
    func prune() throws {
        var names: [String] = []
        for seed in 1...4 as ClosedRange<UInt64> {
            try publish(500, seed: seed)
            try fold(data)
            names.append(try backUp().name)
        }
        try withExtendedLifetime(repository.lockToWrite()) {
            let error = #expect(throws: StoreError.self) { try backUp() }
            #expect("\(error.map { "\($0)" } ?? "")".contains("another weir backup uses it"))
        }
        let pruned = try repository.prune(keeping: 2)
        #expect(pruned.names == Array(names.prefix(2)))
        #expect(pruned.parts > 0)
        #expect(try repository.names() == Array(names.suffix(2)))
        #expect(try faults() == [])
        let listed = Set(
            try names.suffix(2).flatMap { try repository.manifest(named: $0).files }
                .flatMap { $0.parts ?? [] })
        let present = (FileManager.default.subpaths(atPath: repository.path + "/parts") ?? [])
            .filter { $0.utf8.count > 2 }
        #expect(Set(present.map { String($0.dropFirst(3)) }) == listed)
        _ = try restore(nil, to: "restored")
    }

    @Test("one directory has backups of one data directory, and nothing else")
    func otherContent() throws {
        try publish(10, seed: 1)
        try workspace.write("x", to: "backups/notes.txt")
        #expect(throws: CommandError.self) { try backUp() }
        #expect(try entries() == ["notes.txt"])
        try FileManager.default.removeItem(atPath: "\(repository.path)/notes.txt")
        try backUp()
        let other = "\(workspace.path)/other"
        try FileManager.default.copyItem(atPath: data, toPath: other)
        #expect {
            try repository.backUp(other, logPath: "\(other)/log.sqlite") { _ in }
        } throws: { error in
            (error as? CommandError)?.explanation?.contains("use one directory for each") == true
        }
        #expect(throws: CommandError.self) {
            try BackupRepository("\(data)/backups").backUp(
                data, logPath: "\(data)/log.sqlite"
            ) { _ in }
        }
        #expect(!FileManager.default.fileExists(atPath: "\(data)/backups"))
    }
}

@Suite("Restoring backups")
struct BackupRestorationTests {
    private let workspace: TemporaryDirectory
    private let data: String
    private let full: String

    init() throws {
        workspace = try TemporaryDirectory()
        data = "\(workspace.path)/data"
        full = "\(workspace.path)/full"
        let log = try EmbeddedLog(path: "\(data)/log.sqlite", mode: .create)
        try log.createTopic("bids", partitionCount: 4)
        try log.writer().append(Samples.bids(100, seed: 1))
        try BidsFold.work(
            WorkerOptions(
                log: .sqlite(path: "\(data)/log.sqlite"), data: data,
                pipelines: Repository.path("pipelines"), untilEnd: true), stop: StopSignal())
        var writer = try BackupWriter(
            data: data, logPath: "\(data)/log.sqlite", target: full
        ) { _ in }
        _ = try writer.write()
    }

    private func restore(to directory: String) throws {
        try BackupRestoration(BackupSource(full, at: nil), data: directory).run { _ in }
    }

    @Test("a data directory with files is never replaced, an empty one is")
    func notEmpty() throws {
        #expect {
            try restore(to: data)
        } throws: {
            ($0 as? CommandError)?.explanation?.contains("mv \(data) \(data).damaged") == true
        }
        let empty = "\(workspace.path)/empty"
        try FileManager.default.createDirectory(
            atPath: empty, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o750])
        try restore(to: empty)
        let mode = try FileManager.default.attributesOfItem(atPath: empty)[.posixPermissions]
        #expect(mode as? Int == 0o750)
        #expect(
            try OpenStores(directories: [empty]).digest()
                == OpenStores(directories: [data]).digest())
        #expect(!FileManager.default.fileExists(atPath: "\(empty)/\(BackupManifest.fileName)"))
    }

    @Test("a damaged backup is not restored, and the error names its file")
    func damaged() throws {
        let store = "\(full)/bids.sqlite"
        try DamagedBytes.each(1, in: store, seed: 1) { _ in
            #expect {
                try restore(to: "\(workspace.path)/restored")
            } throws: { error in
                let text = (error as? CommandError)?.explanation ?? ""
                return text.contains("\(full) cannot be restored: bids.sqlite is damaged")
            }
        }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: workspace.path).sorted()
                == ["data", "full"])
    }

    @Test("a missing file is named, as a fault and when it is restored")
    func missing() throws {
        let log = "\(full)/log.sqlite"
        try FileManager.default.removeItem(atPath: log)
        try Data("x".utf8).write(to: URL(filePath: "\(full)/extra"))
        let faults = try BackupVerification(directory: full) { _ in }.faults
        #expect(faults.count == 2 && faults[1].contains("\(log) is missing"), "\(faults)")
        #expect {
            try restore(to: "\(workspace.path)/restored")
        } throws: {
            ($0 as? CommandError)?.explanation?.contains(log) == true
        }
    }

    @Test("nothing is restored into the backup, and a log that is not there is an error")
    func wrongPlaces() throws {
        func status(_ arguments: [String]) throws -> Int32 {
            try Program.run("weir", ["backup", "restore", full, "--data"] + arguments).status
        }
        #expect(try status(["\(full)/inside"]) == 64)
        let restored = "\(workspace.path)/restored"
        #expect(try status([restored, "--log", "sqlite:\(workspace.path)/no/log.sqlite"]) == 64)
        #expect(!FileManager.default.fileExists(atPath: restored))
        let missing = try Program.run(
            "weir", ["backup", "\(workspace.path)/no/backup", "--data", data])
        #expect(missing.status == 64 && missing.error.contains("mount the disk"))
        #expect(try BackupVerification(directory: full) { _ in }.faults.isEmpty)
    }

    @Test("the commands report what they did, as text and as JSON")
    func commands() throws {
        let backups = "\(workspace.path)/backups"
        func run(_ arguments: [String]) throws -> Program {
            let program = try Program.run("weir", ["backup"] + arguments)
            #expect(program.status == 0, "\(arguments): \(program.error)")
            return program
        }
        _ = try run([backups, "--incremental", "--data", data])
        let second = try run([backups, "--incremental", "--data", data, "--keep", "1"])
        #expect(second.output.contains("0 of "), "\(second.output)")
        #expect(second.output.contains("1 backup deleted, 1 kept"), "\(second.output)")
        let list = try jsonObject(try run(["list", backups, "--format", "json"]).output)
        #expect((list["backups"] as? [Any])?.count == 1)
        let verified = try run(["verify", backups]).output
        #expect(verified.contains("all files are undamaged"), "\(verified)")
        let target = "\(workspace.path)/restored"
        let report = try jsonObject(
            try run(["restore", backups, "--data", target, "--format", "json"]).output)
        #expect((report["offsets"] as? [Any])?.count == 4)
        let again = try Program.run("weir", ["backup", "restore", backups, "--data", target])
        #expect(again.status == 1 && again.error.contains("is not empty"), "\(again.error)")
        let at = try Program.run(
            "weir", ["backup", "restore", backups, "--at", "2020", "--data", "\(target)2"])
        #expect(at.status == 64, "\(at.error)")
        let prune = try run(["prune", backups, "--keep", "1", "--format", "json"])
        #expect((try jsonObject(prune.output)["deleted"] as? [Any])?.isEmpty == true)
    }
}
