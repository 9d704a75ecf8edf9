import AggregateStore
import Foundation
import Streams

/// The stores of all streams under some data directories, opened for reading.
///
/// Several directories may hold copies of a partition's state; the one that is folded furthest counts.
public final class StoreSet {
    /// The directories, as they were given.
    public let directories: [String]
    /// The opened stores of each stream, in the order of the directories.
    private let readers: [(stream: String, readers: [StoreReader])]

    /// The streams that have stores, in bytewise order.
    public static let streams = [
        BidsFold.streamName, ConversionUpdatesFold.streamName, ImpressionsFold.streamName,
        OverlayClicksFold.streamName, PostbacksFold.streamName, StoreNotificationsFold.streamName,
    ]

    /// Opens what stores there are; there may be none.
    public init(directories: [String]) throws(InspectionError) {
        self.directories = directories
        try Self.check(directories)
        // Read once, so that all streams are of the same sets.
        let sets = try Self.sets(of: directories)
        var opened: [(stream: String, readers: [StoreReader])] = []
        for stream in Self.streams {
            opened.append((stream, try Self.open(Self.paths(of: stream, in: sets), of: stream)))
        }
        readers = opened
    }

    private static func paths(
        of stream: String, in sets: [StoreSets]
    ) throws(InspectionError) -> [String] {
        var paths: [String] = []
        for sets in sets {
            do throws(StoreError) {
                paths.append(try sets.presentPath(of: stream))
            } catch {
                throw .store(error)
            }
        }
        return paths
    }

    private static func sets(
        of directories: [String]
    ) throws(InspectionError) -> [StoreSets] {
        var sets: [StoreSets] = []
        for directory in directories {
            do throws(StoreError) {
                sets.append(try StoreSets(directory: directory))
            } catch {
                throw .store(error)
            }
        }
        return sets
    }

    /// Path of a stream's store that is in force in a data directory.
    public static func path(
        of stream: String, in directory: String
    ) throws(StoreError) -> String {
        try StoreSets(directory: directory).presentPath(of: stream)
    }

    /// One of several directories that cannot be read would silently take its partitions along.
    private static func check(_ directories: [String]) throws(InspectionError) {
        for directory in directories {
            let exists = FileManager.default.fileExists(atPath: directory)
            guard exists || directories.count > 1 else { continue }
            guard access(directory, R_OK | X_OK) == 0 else {
                throw .unreadableDirectory(
                    directory, detail: String(cString: strerror(errno)))
            }
        }
    }

    private static func open(
        _ paths: [String], of stream: String
    ) throws(InspectionError) -> [StoreReader] {
        var readers: [StoreReader] = []
        for path in paths where FileManager.default.fileExists(atPath: path) {
            do throws(StoreError) {
                let reader = try StoreReader(path: path)
                guard reader.stream == stream else {
                    throw .otherStream(path: path, found: reader.stream, wanted: stream)
                }
                readers.append(reader)
            } catch {
                throw .store(error)
            }
        }
        return readers
    }

    /// Calls `body` with one consistent state of the stores of these streams.
    ///
    /// - Throws: `noStore` when none of the streams has a store.
    func view<Value>(
        of streams: [String], _ body: (StoreView) throws -> Value
    ) throws(InspectionError) -> Value {
        let chosen = readers.filter { streams.contains($0.stream) && !$0.readers.isEmpty }
        guard !chosen.isEmpty else {
            throw .noStore(streams: streams, directories: directories)
        }
        let flat = chosen.flatMap { entry in entry.readers.map { (entry.stream, $0) } }
        var answer: Result<Value, InspectionError>?
        do {
            try Self.nest(flat[...], []) { snapshots in
                do {
                    try self.checkLogs(of: snapshots)
                    answer = .success(try body(StoreView(snapshots)))
                } catch let error as InspectionError {
                    // The readers would take it for an error of SQLite.
                    answer = .failure(error)
                }
            }
        } catch let error as StoreError {
            throw .store(error)
        } catch {
            throw .store(.backend(operation: "read", path: flat[0].1.path, detail: "\(error)"))
        }
        guard let answer else { throw .noStore(streams: streams, directories: directories) }
        return try answer.get()
    }

    private func checkLogs(
        of snapshots: [(stream: String, snapshot: StoreSnapshot)]
    ) throws(InspectionError) {
        for (stream, snapshot) in snapshots
        where snapshots.contains(where: {
            $0.stream == stream
                && ($0.snapshot.logIdentity, $0.snapshot.topic)
                    != (snapshot.logIdentity, snapshot.topic)
        }) {
            throw .differentLogs(stream: stream, directories: directories)
        }
    }

    /// Opens a snapshot within the one before, so that all are open when `body` is called.
    private static func nest(
        _ rest: ArraySlice<(String, StoreReader)>,
        _ taken: [(stream: String, snapshot: StoreSnapshot)],
        _ body: ([(stream: String, snapshot: StoreSnapshot)]) throws -> Void
    ) throws {
        guard let (stream, reader) = rest.first else { return try body(taken) }
        try reader.snapshot { snapshot in
            try nest(rest.dropFirst(), taken + [(stream, snapshot)], body)
        }
    }
}
