import ArgumentParser
import Foundation

/// Who may read the files that the programs create. Stores, logs and backups hold what devices sent and shared secrets:
/// by default their owner alone has access.
///
/// The mask of the process decides: SQLite, Foundation and `open` create files under it, and SQLite gives its `-wal`
/// and `-shm` files the mode of the database. Files and directories that exist keep their modes.
package enum FileAccess {
    /// Modes 0600 and 0700, or 0640 and 0750 with WEIR_GROUP, whatever mask the process was started with.
    package static func begin() {
        // A value that cannot be read is reported by those programs that have the option.
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
            "Let the owning group read created files: modes 0640 and 0750 instead of 0600 and 0700. [WEIR_GROUP=1]"
        ))
    package var group = false

    package init() {}

    /// Takes effect here, before anything is created.
    package func validate() throws {
        do {
            FileAccess.limit(toGroup: try FileAccess.isGroupAllowed(option: group))
        } catch {
            throw ValidationError("\(error)")
        }
    }
}
