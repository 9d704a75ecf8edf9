import ArgumentParser
import Foundation

/// Access to the files that the programs create. Stores, logs and backups contain data of devices and shared secrets:
/// by default only their owner has access.
///
/// The umask of the process decides: SQLite, Foundation and `open` create files under it, and SQLite gives its `-wal`
/// and `-shm` files the mode of the database. Existing files and directories keep their modes.
package enum FileAccess {
    /// Modes 0600 and 0700, or 0640 and 0750 with WEIR_GROUP, regardless of the umask at the start.
    package static func begin() {
        // Programs with the option report an unreadable value.
        limit(toGroup: (try? isGroupAllowed(option: false)) ?? false)
    }

    static func limit(toGroup: Bool) {
        umask(toGroup ? 0o027 : 0o077)
    }

    static func isGroupAllowed(option: Bool) throws(UsageError) -> Bool {
        try Environment().isSet("WEIR_GROUP", option: option)
    }
}

/// The option of programs and commands that create files.
package struct FileAccessOptions: ParsableArguments {
    @Flag(
        help: ArgumentHelp(
            "Let the owning group read created files: modes 0640 and 0750, not 0600 and 0700. [WEIR_GROUP=1]"
        ))
    package var group = false

    package init() {}

    /// Takes effect here, before any file is created.
    package func validate() throws {
        do {
            FileAccess.limit(toGroup: try FileAccess.isGroupAllowed(option: group))
        } catch {
            throw ValidationError("\(error)")
        }
    }
}
