import Foundation
import TestKit
import Testing
import Yams

/// The files of `ops/`, by paths relative to the repository.
struct OpsDirectory {
    /// The repository.
    let root = Repository.root

    /// Paths of all files below `ops/`, bytewise.
    func paths() throws -> [String] {
        let below = try FileManager.default.subpathsOfDirectory(
            atPath: root.appending(path: "ops").path())
        return below.map { "ops/\($0)" }.filter { !isDirectory($0) }.sorted()
    }

    /// Paths of the files with one of these endings; never none.
    func paths(endingIn endings: String...) throws -> [String] {
        let found = try paths().filter { path in endings.contains { path.hasSuffix($0) } }
        try #require(!found.isEmpty, "no file ends in \(endings)")
        return found
    }

    /// What a file holds.
    func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// What all files of a folder hold that have an ending.
    func texts(below folder: String, endingIn ending: String) throws -> String {
        let full = root.appending(path: folder).path()
        return try FileManager.default.subpathsOfDirectory(atPath: full)
            .filter { $0.hasSuffix(ending) }
            .map { try text("\(folder)/\($0)") }.joined(separator: "\n")
    }

    /// The documents of a YAML file.
    func documents(_ path: String) throws -> [Node] {
        try Array(Yams.compose_all(yaml: text(path)))
    }

    /// The only document of a YAML file.
    func document(_ path: String) throws -> Node {
        let documents = try documents(path)
        try #require(documents.count == 1, "\(path) has \(documents.count) documents")
        return documents[0]
    }

    /// Whether there is a file or a directory.
    func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appending(path: path).path())
    }

    private func isDirectory(_ path: String) -> Bool {
        var isDirectory: ObjCBool = false
        let full = root.appending(path: path).path()
        return FileManager.default.fileExists(atPath: full, isDirectory: &isDirectory)
            && isDirectory.boolValue
    }
}

extension Node {
    /// The texts of a list; none when there is no such list.
    func texts(_ key: String) -> [String] { self[key]?.sequence?.compactMap(\.string) ?? [] }

    /// Every value of this key, at any depth.
    func values(ofKey key: String) -> [Node] {
        switch self {
        case .mapping(let mapping):
            mapping.flatMap {
                ($0.key.string == key ? [$0.value] : []) + $0.value.values(ofKey: key)
            }
        case .sequence(let sequence): sequence.flatMap { $0.values(ofKey: key) }
        default: []
        }
    }
}
