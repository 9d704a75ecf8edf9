import DatabaseFiles
import Foundation
import Store

/// Describes a directory of replayed stores: its file `replay.json`. Running the same replay again continues where it
/// stopped.
package struct ReplayManifest: Codable, Equatable, Sendable {
    package static let fileName = "replay.json"

    /// The topics, in bytewise order.
    package var topics: [String]
    package var range: ReplayRange
    /// The configuration for folding.
    package var mode: ReplayMode
    /// The address of the log.
    package var log: String
    /// The archive before the log; nil for none.
    package var archive: String?
    /// The data directories of the live stores.
    package var data: [String]
    /// The data directory of the set's promotion, even before it is complete; otherwise nil.
    package private(set) var promotedIn: String?

    private enum CodingKeys: String, CodingKey {
        case topics, range, log, archive, data
        case mode = "configuration"
        case promotedIn = "promoted_in"
    }

    /// Describes an order; makes paths absolute.
    package init(_ order: ReplayOrder, topics: [String]) {
        self.topics = topics.sorted()
        range = order.range
        mode = order.mode
        log =
            switch order.source.log {
            case .sqlite(let path): "sqlite:\(Self.absolute(path))"
            case .kafka: order.source.log.description
            }
        archive = order.source.archivePath.map(Self.absolute)
        data = order.dataDirectories.map(Self.absolute)
    }

    /// Reads the manifest of a directory; nil if no replay has begun there.
    package static func read(in directory: String) throws -> ReplayManifest? {
        let path = "\(directory)/\(fileName)"
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        do {
            return try JSONDecoder().decode(
                Self.self, from: RegularFile.contents(of: path))
        } catch let error as DecodingError {
            throw ReplayError.badManifest(path: path, detail: error.localizedDescription)
        } catch let error as RegularFileError {
            throw StoreError.disk(operation: "read", path: path, detail: "it \(error)")
        } catch {
            throw StoreError.disk(
                operation: "read", path: path, detail: SystemRefusal.explanation(of: error))
        }
    }

    /// Prepares a directory for this replay: a new one, an empty one, or one in which the same replay was begun.
    package func begin(in directory: String) throws {
        for data in data {
            let sets = try PromotionJournal(directory: data)
            let own = Self.absolute(directory)
            let inForce = Set(sets.promotions.flatMap(\.streams.keys)).map {
                sets.directory(of: $0)
            }
            guard own != data, !inForce.map(Self.absolute).contains(own) else {
                throw ReplayError.isLive(directory: directory)
            }
        }
        if let begun = try Self.read(in: directory) {
            return try checkSame(as: begun, directory: directory)
        }
        let files = try Self.create(directory)
        if let file = files.sorted().first(where: { $0 != Self.fileName + ".new" }) {
            throw ReplayError.notEmpty(directory: directory, file: file)
        }
        try write(to: directory)
    }

    /// Creates a directory, unless it exists. Returns the names of its files.
    private static func create(_ directory: String) throws(StoreError) -> [String] {
        do {
            try FileOwner.createDirectory(directory)
            return try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            throw .disk(
                operation: "create the directory", path: directory,
                detail: "\(SystemRefusal.explanation(of: error)) (or name another directory)")
        }
    }

    /// Notes the data directory of the set's promotion.
    func add(promotionIn data: String, in directory: String) throws {
        var noted = self
        noted.promotedIn = Self.absolute(data)
        if noted != self { try noted.write(to: directory) }
    }

    private func write(to directory: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try DurableFile.replace(
            "\(directory)/\(Self.fileName)", with: encoder.encode(self) + Data("\n".utf8))
    }

    private func checkSame(as begun: ReplayManifest, directory: String) throws(ReplayError) {
        let settings = [
            ("--topic", begun.topics.joined(separator: ", "), topics.joined(separator: ", ")),
            ("the range", begun.range.explanation, range.explanation),
            ("--configuration", begun.mode.rawValue, mode.rawValue),
            ("--log", begun.log, log),
            ("--archive", begun.archive ?? "none", archive ?? "none"),
            ("--data", begun.data.joined(separator: ", "), data.joined(separator: ", ")),
        ]
        for (name, was, now) in settings where was != now {
            throw .otherSettings(directory: directory, setting: name, was: was, now: now)
        }
    }

    static func absolute(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.resolvingSymlinksInPath().path
    }
}

extension ReplayRange {
    /// For people.
    fileprivate var explanation: String {
        let from = fromOffset.map { "offset \($0)" } ?? fromMilliseconds.map { "\($0) ms" }
        let to = toOffset.map { "offset \($0)" } ?? toMilliseconds.map { "\($0) ms" }
        return "\(from ?? "the beginning") to \(to ?? "the end")"
    }
}
