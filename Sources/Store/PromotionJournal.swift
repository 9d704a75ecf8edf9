import DatabaseFiles
import Foundation

/// Which stores of a data directory are in force.
///
/// A stream's store lies at `<data>/<stream>.sqlite` until a promotion says otherwise. Promotions stand in
/// `<data>/sets.json` in their order; the last one that names a stream says where its store is. The file is
/// replaced as a whole, so a reader sees a promotion or does not.
package struct PromotionJournal: Sendable {
    /// The data directory, as it was given.
    package let directory: String
    /// What was promoted, the oldest first.
    package private(set) var promotions: [StorePromotion]

    package static let fileName = "sets.json"
    /// What the journal calls the data directory itself.
    static let ownSet = "."

    private struct Journal: Codable {
        var promotions: [StorePromotion]
    }

    /// A directory without promotions, or one that is not there, has its own stores in force.
    package init(directory: String) throws(StoreError) {
        self.directory = directory
        let path = Self.join(directory, Self.fileName)
        guard FileManager.default.fileExists(atPath: path) else {
            promotions = []
            return
        }
        do {
            let bytes = try RegularFile.contents(of: path)
            promotions = try JSONDecoder().decode(Journal.self, from: bytes).promotions
        } catch let error as DecodingError {
            throw .badSets(path: path, detail: Self.explanation(error))
        } catch let error as RegularFileError {
            throw .disk(operation: "read", path: path, detail: "it \(error)")
        } catch {
            throw .disk(operation: "read", path: path, detail: SystemRefusal.explanation(of: error))
        }
    }

    /// For a program that goes on from what it reads: what it sees is durable. Whoever promoted may have been killed, or
    /// met a failing disk, between the replacing of the file and the sync of its directory; a loss of power would
    /// bring the old set back in force under what was done from the new one.
    package init(settledIn directory: String) throws(StoreError) {
        try self.init(directory: directory)
        if !promotions.isEmpty {
            try DurableFile.syncName(of: Self.join(directory, Self.fileName))
        }
    }

    package func directory(of stream: String) -> String {
        resolve(set(of: stream))
    }

    /// The store of a stream, there or not.
    package func path(of stream: String) -> String {
        Self.join(directory(of: stream), "\(stream).sqlite")
    }

    /// The store of a stream. Throws when it was promoted and is gone or empty: no new one may begin there.
    package func presentPath(of stream: String) throws(StoreError) -> String {
        let path = path(of: stream)
        guard set(of: stream) != Self.ownSet else { return path }
        guard FileManager.default.fileExists(atPath: path) else {
            throw .promotedStoreGone(path: path, journal: Self.join(directory, Self.fileName))
        }
        try StoreReader.requireContent(path)
        return path
    }

    /// The store of a stream that was in force at an instant (milliseconds since 1970).
    package func path(of stream: String, atMilliseconds instant: Int64) -> String {
        let moves = moves(of: stream)
        let set =
            moves.last { $0.promotion.atMilliseconds <= instant }?.move.to ?? moves.first?.move.from
            ?? Self.ownSet
        return Self.join(resolve(set), "\(stream).sqlite")
    }

    /// The promotions of a stream after an instant and up to another (milliseconds since 1970), each with
    /// the store that was in force before and the one that was from then on.
    package func promotions(
        of stream: String, afterMilliseconds start: Int64, throughMilliseconds end: Int64
    ) -> [(promotion: StorePromotion, from: String, to: String)] {
        let instants = start + 1..<max(end, start) + 1
        return moves(of: stream).filter { instants.contains($0.promotion.atMilliseconds) }.map {
            promotion, move in
            (
                promotion, Self.join(resolve(move.from), "\(stream).sqlite"),
                Self.join(resolve(move.to), "\(stream).sqlite")
            )
        }
    }

    /// Whether the last promotion took back what one before it had put in force.
    package var isBack: Bool {
        var inForce: [StorePromotion] = []
        var isBack = false
        for promotion in promotions {
            let undone = promotion.streams.mapValues {
                StorePromotion.Move(to: $0.from, from: $0.to)
            }
            isBack = promotion.kind == .rollback && inForce.last?.streams == undone
            if isBack { inForce.removeLast() } else { inForce.append(promotion) }
        }
        return isBack
    }

    /// Data directories in the order in which their copies of a partition count where they are folded equally far:
    /// the one whose store of the stream came into force last is first, then as they were given.
    ///
    /// - Parameter instant: up to when promotions count, in milliseconds since 1970.
    package static func lastPromotedFirst(
        _ directories: [PromotionJournal], of stream: String, atMilliseconds instant: Int64 = .max
    ) -> [PromotionJournal] {
        let begins = directories.map { journal in
            journal.moves(of: stream).last { $0.promotion.atMilliseconds <= instant }?
                .promotion.atMilliseconds ?? .min
        }
        return directories.indices.sorted { (begins[$1], $0) < (begins[$0], $1) }
            .map { directories[$0] }
    }

    /// Whether a promotion has put the stores of a set in force, or others in their place.
    package func names(_ set: String) -> Bool {
        promotions.contains { promotion in
            promotion.streams.values.contains { $0.to == set || $0.from == set }
        }
    }

    /// Whether a promotion has put the store of a stream in force that is.
    package func hasPromoted(_ stream: String) -> Bool { !moves(of: stream).isEmpty }

    /// Where the store of a stream is, as the journal writes it.
    package func set(of stream: String) -> String {
        moves(of: stream).last?.move.to ?? Self.ownSet
    }

    /// A directory as the journal writes it: relative to the data directory when it lies below.
    package func set(at path: String) -> String {
        let own = Self.absolute(directory)
        let other = Self.absolute(path)
        if other == own { return Self.ownSet }
        let below = own == "/" ? own : own + "/"
        return other.hasPrefix(below) ? String(other.dropFirst(below.count)) : other
    }

    /// The directory that the journal's text names.
    package func resolve(_ set: String) -> String {
        if set == Self.ownSet { return directory }
        return set.hasPrefix("/") ? set : Self.join(directory, set)
    }

    /// Puts a promotion in force. It is durable when this returns. When it throws, nothing has changed, or a loss of
    /// power may take the promotion back until somebody reads it as settled.
    package mutating func append(_ promotion: StorePromotion) throws(StoreError) {
        let path = Self.join(directory, Self.fileName)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let bytes: Data
        do {
            bytes = try encoder.encode(Journal(promotions: promotions + [promotion]))
        } catch {
            throw .badSets(path: path, detail: "\(error)")
        }
        try DurableFile.replace(path, with: bytes + Data("\n".utf8))
        promotions.append(promotion)
    }

    /// Every promotion that names a stream, with what it says of it.
    private func moves(
        of stream: String
    ) -> [(promotion: StorePromotion, move: StorePromotion.Move)] {
        promotions.compactMap { promotion in promotion.streams[stream].map { (promotion, $0) } }
    }

    static func join(_ directory: String, _ name: String) -> String {
        directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)"
    }

    private static func absolute(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.resolvingSymlinksInPath().path
    }

    private static func explanation(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, _): "no '\(key.stringValue)' in it"
        case .typeMismatch(_, let context), .valueNotFound(_, let context),
            .dataCorrupted(let context):
            context.debugDescription
        @unknown default: "not understood"
        }
    }
}

/// A change of the stores that are in force, as `sets.json` has it.
package struct StorePromotion: Codable, Equatable, Sendable {
    package enum Kind: String, Codable, Sendable {
        /// To a set that was replayed.
        case promote
        /// Back to a set that had been in force.
        case rollback
    }

    /// The directories whose store of a stream is in force from then on, and was until then. They are
    /// relative to the data directory when they lie below it (`.` is that itself), else absolute.
    package struct Move: Codable, Equatable, Sendable {
        package var to: String
        package var from: String

        package init(to: String, from: String) {
            self.to = to
            self.from = from
        }
    }

    /// Since 1970.
    package var atMilliseconds: Int64
    package var kind: Kind
    /// The streams that it changed.
    package var streams: [String: Move]

    package init(atMilliseconds: Int64, kind: Kind, streams: [String: Move]) {
        self.atMilliseconds = atMilliseconds
        self.kind = kind
        self.streams = streams
    }

    private enum CodingKeys: String, CodingKey {
        case atMilliseconds = "at_ms"
        case kind, streams
    }
}
