import Foundation
import TestKit
import Testing

@testable import Store

@Suite("Owners of files")
struct FileOwnerTests {
    @Test("Files that root creates get the owner and the group of their directory")
    func adopted() throws {
        let workspace = try TemporaryDirectory()
        let data = workspace.path + "/data"
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        // Only root can give a directory away. For other users, files stay their own.
        let owner: uid_t = geteuid() == 0 ? 65_534 : geteuid()
        let group: gid_t = geteuid() == 0 ? 65_534 : getegid()
        try #require(chown(data, owner, group) == 0 && chmod(data, 0o750) == 0)
        try FileOwner.createDirectory(data + "/sets/upgrade-1")
        try DurableFile.replace(data + "/sets.json", with: Data("{}".utf8))
        let lock = try StoreLock(storePath: data + "/sets/upgrade-1/bids.sqlite")
        for name in [
            "sets", "sets/upgrade-1", "sets.json", "sets/upgrade-1/bids.sqlite.lock",
        ] {
            var found = stat()
            try #require(stat(data + "/" + name, &found) == 0)
            #expect(found.st_uid == owner && found.st_gid == group, "\(name)")
        }
        withExtendedLifetime(lock) {}
    }
}
