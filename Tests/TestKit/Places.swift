import Foundation

/// A directory of a test's own, removed with the value.
package final class TemporaryDirectory: Sendable {
    package let path = NSTemporaryDirectory() + "weir-test-\(UUID().uuidString)"

    package init() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file and the directories above it; returns its path.
    @discardableResult
    package func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
        let file = URL(fileURLWithPath: "\(path)/\(name)")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file)
        return file.path
    }

    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        try write(text.utf8, to: name)
    }
}

/// Files of the repository that tests read.
package enum Repository {
    package static let root = URL(filePath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    package static func path(_ relative: String) -> String {
        root.appending(path: relative).path(percentEncoded: false)
    }

    package static func text(_ relative: String) throws -> String {
        try String(contentsOf: root.appending(path: relative), encoding: .utf8)
    }

    /// The files of a folder with this ending, in order.
    package static func files(in folder: String, endingIn ending: String) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(
            at: root.appending(path: folder), includingPropertiesForKeys: nil
        ).filter { $0.path.hasSuffix(ending) }.sorted { $0.path < $1.path }
    }

    /// Paths of all files below a folder that are not hidden, in order.
    package static func paths(below folder: String) throws -> [String] {
        guard
            let files = FileManager.default.enumerator(
                at: root.appending(path: folder),
                includingPropertiesForKeys: [.isRegularFileKey], options: .skipsHiddenFiles)
        else { throw TestFault("\(folder) cannot be read") }
        let found = try files.compactMap { file -> String? in
            guard let file = file as? URL,
                try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true
            else { return nil }
            return String(file.path(percentEncoded: false).dropFirst(path("").count))
        }
        return found.sorted()
    }

    /// Paths of all Markdown files, in order.
    package static func pages() throws -> [String] {
        let top = try files(in: "", endingIn: ".md").map(\.lastPathComponent)
        return try top
            + ["Benchmarks", "docs", "examples", "ops"].flatMap {
                try paths(below: $0).filter { $0.hasSuffix(".md") }
            }
    }
}

/// What went wrong with the surroundings of a test, not with what it tests.
package struct TestFault: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// The object that a text of JSON is.
package func jsonObject(_ text: String) throws -> [String: Any] {
    let json = try JSONSerialization.jsonObject(with: Data(text.utf8))
    guard let object = json as? [String: Any] else { throw TestFault("no object: \(text)") }
    return object
}
