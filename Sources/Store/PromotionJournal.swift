import DatabaseFiles
import Foundation

/// The stores in force of a data directory.
///
/// A stream's store is at `<data>/<stream>.sqlite` until a promotion changes this. `<data>/sets.json` lists the
/// promotions in order; the last one with a stream contains the place of its store. The file is replaced as a whole,
/// so a reader sees either all or nothing of a promotion.
package struct PromotionJournal: Sendable {
    /// The data directory, as given.
    package let directory: String
    /// Promotions, the oldest first.
    package private(set) var promotions: [StorePromotion]

    package static let fileName = "sets.json"
    /// The journal's name of the data directory itself.
    static let ownSet = "."

    private struct Journal: Codable {
        var promotions: [StorePromotion]
    }

    /// In a missing directory, or one without promotions, its own stores are in force.
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

    /// For a program that acts on the journal: makes its present content durable. The promoting process may have been
    /// killed, or met a failing disk, between the replacement of the file and the sync of its directory. A power loss
    /// would then put the old set back in force, below work based on the new one.
    package init(settledIn directory: String) throws(StoreError) {
        try self.init(directory: directory)
        if !promotions.isEmpty {
            try DurableFile.syncName(of: Self.join(directory, Self.fileName))
        }
    }

    package func directory(of stream: String) -> String {
        resolve(set(of: stream))
    }

    /// The path of a stream's store, which may be missing.
    package func path(of stream: String) -> String {
        Self.join(directory(of: stream), "\(stream).sqlite")
    }

    /// The path of a stream's store. Throws if it was promoted and is missing or empty: a new one must not begin
    /// there.
    package func presentPath(of stream: String) throws(StoreError) -> String {
        let path = path(of: stream)
        guard set(of: stream) != Self.ownSet else { return path }
        guard FileManager.default.fileExists(atPath: path) else {
            throw .promotedStoreGone(path: path, journal: Self.join(directory, Self.fileName))
        }
        try StoreReader.requireContent(path)
        return path
    }

    /// The store of a stream in force at an instant (milliseconds since 1970).
    package func path(of stream: String, atMilliseconds instant: Int64) -> String {
        let moves = moves(of: stream)
        let set =
            moves.last { $0.promotion.atMilliseconds <= instant }?.move.to ?? moves.first?.move.from
            ?? Self.ownSet
        return Self.join(resolve(set), "\(stream).sqlite")
    }

    /// The promotions of a stream after an instant and up to another (milliseconds since 1970), each with the stores
    /// in force before and after it.
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

    /// Whether the last promotion reverted the previous one.
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

    /// Whether the last promotion put stores in force that an upgrade has made.
    package var isOfUpgrade: Bool {
        let made = Set(promotions.filter(\.isUpgrade).flatMap { $0.streams.values.map(\.to) })
        return promotions.last?.streams.values.allSatisfy { made.contains($0.to) } ?? false
    }

    /// Data directories in the order of precedence of their equally advanced copies of a partition: first the one
    /// with the most recently promoted store of the stream, then in the given order.
    ///
    /// - Parameter instant: only promotions up to this instant count, in milliseconds since 1970.
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

    /// Whether a promotion put the stores of a set in force or replaced them.
    package func names(_ set: String) -> Bool {
        promotions.contains { promotion in
            promotion.streams.values.contains { $0.to == set || $0.from == set }
        }
    }

    /// Whether a promotion put the present store of a stream in force.
    package func hasPromoted(_ stream: String) -> Bool { !moves(of: stream).isEmpty }

    /// The times of the promotions of a stream, in order, in milliseconds since 1970.
    package func times(of stream: String) -> [Int64] {
        moves(of: stream).map(\.promotion.atMilliseconds)
    }

    /// The place of a stream's store, as written in the journal.
    package func set(of stream: String) -> String {
        moves(of: stream).last?.move.to ?? Self.ownSet
    }

    /// A directory as written in the journal: relative to the data directory if it is below it.
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

    /// Puts a promotion in force, durably when this returns. If it throws, either nothing has changed, or a power
    /// loss may revert the promotion until `init(settledIn:)` reads it.
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

    /// Every promotion of a stream, with its change for the stream.
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
        case .keyNotFound(let key, _): "'\(key.stringValue)' is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context),
            .dataCorrupted(let context):
            context.debugDescription
        @unknown default: "the format is unknown"
        }
    }
}

/// A change of the stores in force, as written in `sets.json`.
package struct StorePromotion: Codable, Equatable, Sendable {
    package enum Kind: String, Codable, Sendable {
        /// To a replayed set.
        case promote
        /// Back to a set that had been in force.
        case rollback
    }

    /// The directories with a stream's store in force after and before the promotion. They are relative to the data
    /// directory if they are below it (`.` is the directory itself), otherwise absolute.
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
    /// The changed streams.
    package var streams: [String: Move]
    /// True for the promotion of an upgrade; otherwise missing.
    private var upgrade: Bool?

    package var isUpgrade: Bool { upgrade == true }

    package init(
        atMilliseconds: Int64, kind: Kind, streams: [String: Move], isUpgrade: Bool = false
    ) {
        self.atMilliseconds = atMilliseconds
        self.kind = kind
        self.streams = streams
        upgrade = isUpgrade ? true : nil
    }

    private enum CodingKeys: String, CodingKey {
        case atMilliseconds = "at_ms"
        case kind, streams, upgrade
    }
}
