import ConfigurationValues
import Foundation
import Logging

/// Where a program finds its configuration, or the descriptions of topics: the first place of these.
///
/// 1. the option, such as `--pipelines`
/// 2. the environment variable, such as `WEIR_PIPELINES`
/// 3. the configuration in the data directory, such as `data/pipelines`: it belongs to its stores
/// 4. the directory in the current directory, such as `pipelines`
/// 5. the machine's: `/etc/weir/pipelines`, `/usr/share/weir/topics`
/// 6. the files in the program
package struct FilesPlace: Equatable, Sendable {
    package enum Kind: Sendable {
        case pipelines
        case topics

        package var option: String { self == .pipelines ? "--pipelines" : "--topics" }
        package var variable: String { self == .pipelines ? "WEIR_PIPELINES" : "WEIR_TOPICS" }
        var here: String { self == .pipelines ? "pipelines" : "topics" }
        var ofMachine: String {
            self == .pipelines ? "/etc/weir/pipelines" : "/usr/share/weir/topics"
        }
        var builtIn: String { self == .pipelines ? BuiltInPath.pipelines : BuiltInPath.topics }

        /// The place in a data directory; nil for topics, which belong to the log.
        func place(inData directory: String) -> String? {
            self == .pipelines ? "\(directory)/\(here)" : nil
        }

        private var places: String {
            [place(inData: "DATA"), here, ofMachine, builtIn].compactMap { $0 }
                .joined(separator: ", ")
        }

        /// All places in their order, for people.
        package var order: String { "\(option), \(variable), \(places)" }

        /// The default in help texts.
        package var defaults: String { "the first of \(places)" }
    }

    package enum Origin: Equatable, Sendable {
        case option
        case variable
        case data
        case here
        case machine
        case program
    }

    package let kind: Kind
    package let path: String
    package let origin: Origin

    package init(_ kind: Kind, path: String, from origin: Origin) {
        self.kind = kind
        self.path = path
        self.origin = origin
    }

    /// Why this place is used.
    package var explanation: String {
        switch origin {
        case .option: "\(path) (\(kind.option))"
        case .variable: "\(path) (\(kind.variable))"
        case .data: "\(path) (of the data directory)"
        case .here: "\(path) (in the current directory)"
        case .machine: "\(path) (of this machine)"
        case .program: "\(path) (part of this program)"
        }
    }

    /// Warns that a program folds or receives records without a configuration of its user.
    package func warn(_ logger: Logger) {
        guard origin == .program else { return }
        logger.warning(
            """
            there is no \(kind.here) here and no \(kind.ofMachine): using the built-in example, with its apps and \
            models. Write your own configuration with weir init
            """)
    }

    /// Whether a default directory exists. A link counts even if it is broken, and so does a directory that this user
    /// may not see: reading it reports the fault, and no other configuration replaces it without notice.
    package static func isThere(_ path: String) -> Bool {
        var found = stat()
        guard lstat(path, &found) == 0 else { return errno != ENOENT && errno != ENOTDIR }
        return [S_IFDIR, S_IFLNK].contains(found.st_mode & S_IFMT)
    }
}

extension Environment {
    /// - Parameters:
    ///   - data: the data directories; the first one may contain its configuration.
    ///   - isThere: whether a default directory exists.
    package func place(
        of kind: FilesPlace.Kind, _ option: String?, data: [String],
        isThere: (String) -> Bool = FilesPlace.isThere
    ) -> FilesPlace {
        if let option { return FilesPlace(kind, path: option, from: .option) }
        if let path = self[kind.variable] { return FilesPlace(kind, path: path, from: .variable) }
        if let own = data.first.flatMap(kind.place(inData:)), isThere(own) {
            return FilesPlace(kind, path: own, from: .data)
        }
        if isThere(kind.here) { return FilesPlace(kind, path: kind.here, from: .here) }
        if isThere(kind.ofMachine) {
            return FilesPlace(kind, path: kind.ofMachine, from: .machine)
        }
        return FilesPlace(kind, path: kind.builtIn, from: .program)
    }
}
