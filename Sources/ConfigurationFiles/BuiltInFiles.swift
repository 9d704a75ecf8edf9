import CShippedFiles
import ConfigurationValues
import DatabaseFiles
import Foundation

/// The files of `pipelines/` and `topics/`, which are part of every program. Paths on disk, such as that of a secret,
/// are read from there.
package struct BuiltInFiles: ConfigurationSource {
    private static let disk = YAMLFiles()

    /// The texts by path in the repository.
    private static let texts: [String: String] = {
        var texts: [String: String] = [:]
        var index = 0
        while let file = weir_shipped_file(index)?.pointee {
            texts[String(cString: file.path)] = String(cString: file.text)
            index += 1
        }
        return texts
    }()

    package init() {}

    /// The files of a folder, such as `pipelines`, by path within it.
    package static func all(in folder: String) -> [(path: String, text: String)] {
        let prefix = folder + "/"
        return texts.filter { $0.key.hasPrefix(prefix) }
            .map { (String($0.key.dropFirst(prefix.count)), $0.value) }
            .sorted { $0.path < $1.path }
    }

    /// Writes the files of a folder into a directory, which is created. Existing files are errors.
    package static func copy(_ folder: String, to directory: String) throws {
        for (path, text) in all(in: folder) {
            let url = URL(fileURLWithPath: directory).appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: url, options: .withoutOverwriting)
        }
    }

    /// The files under a path: these, or those on disk.
    package static func source(of path: String) -> any ConfigurationSource {
        BuiltInPath.inRepository(path) == nil ? disk : BuiltInFiles()
    }

    package func content(of file: String) throws(ConfigurationError) -> ConfigurationNode? {
        try YAMLFiles.content(text(of: file), of: file)
    }

    package func text(of file: String) throws(ConfigurationError) -> String {
        guard let path = BuiltInPath.inRepository(file) else { return try Self.disk.text(of: file) }
        guard let text = Self.texts[path] else {
            throw ConfigurationError(
                kind: .missingFile, file: file,
                explanation: "does not exist: write your own configuration with weir init")
        }
        return text
    }

    package func names(in directory: String) -> [String]? {
        guard let path = BuiltInPath.inRepository(directory) else {
            return Self.disk.names(in: directory)
        }
        guard isDirectory(directory) else { return nil }
        let names = Self.all(in: path).compactMap { $0.path.split(separator: "/").first }
        return Set(names.map(String.init)).sorted()
    }

    package func isNamed(_ path: String) -> Bool {
        BuiltInPath.inRepository(path) == nil ? Self.disk.isNamed(path) : exists(path)
    }

    package func exists(_ path: String) -> Bool {
        guard let file = BuiltInPath.inRepository(path) else { return Self.disk.exists(path) }
        return Self.texts[file] != nil || isDirectory(path)
    }

    package func isDirectory(_ path: String) -> Bool {
        guard let folder = BuiltInPath.inRepository(path) else {
            return Self.disk.isDirectory(path)
        }
        return Self.texts.keys.contains { $0.hasPrefix(folder + "/") }
    }
}
