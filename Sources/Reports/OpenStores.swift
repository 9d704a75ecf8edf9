import Foundation
import Store
import Streams
import Synchronization

/// The stores of all streams under some data directories, opened for reading.
///
/// Several directories may have copies of a partition's state. The copy folded furthest counts; of equal ones, the one
/// promoted last. So a promotion in one directory takes effect in any order of directories.
package final class OpenStores {
    /// The directories as given.
    package let directories: [String]
    /// The instant up to which records count; nil for all records.
    private let asOf: AsOf?
    /// The time of the clock; nil to ignore the clock, so that the newest record counts whatever its time.
    let present: Present?
    private let opened: [OpenedStream]
    /// The cache to use and extend.
    private let cache = Mutex<ReportCache?>(nil)
    /// The streams that were read.
    private let viewed = Mutex<Set<String>>([])

    /// The opened stores of a stream, in the order of the directories. If one of them cannot be opened, only the
    /// requests that need the stream fail.
    private struct OpenedStream {
        let stream: String
        let readers: Result<[StoreReader], InspectionError>

        /// Empty if a store cannot be opened.
        var usable: [StoreReader] { (try? readers.get()) ?? [] }
    }

    /// The streams that have stores, in bytewise order.
    package static let streams = allStreams.map { $0.streamName }.sorted()

    /// Opens the existing stores; there may be none. Given an instant, opens the stores that were in force then and
    /// limits them to the records folded by then.
    ///
    /// - Throws: `storeGone` when a store that was in force no longer exists.
    package convenience init(
        directories: [String], asOf: AsOf? = nil, present: Present? = nil
    ) throws(InspectionError) {
        try self.init(
            directories: directories, asOf: asOf, inForceAtMilliseconds: asOf?.milliseconds,
            present: present)
    }

    /// - Parameters:
    ///   - asOf: the instant up to which records count; nil for all records.
    ///   - instant: when the stores were in force, in milliseconds since 1970; nil for now.
    ///   - present: the time of the clock; nil to ignore the clock.
    init(
        directories: [String], asOf: AsOf?, inForceAtMilliseconds instant: Int64?,
        present: Present? = nil
    ) throws(InspectionError) {
        self.directories = directories
        self.asOf = asOf
        self.present = present
        try Self.check(directories)
        // Read once, so that all streams use the same sets.
        let sets = try Self.sets(of: directories)
        var opened: [OpenedStream] = []
        for stream in Self.streams {
            var paths: [String] = []
            let inOrder = PromotionJournal.lastPromotedFirst(
                sets, of: stream, atMilliseconds: instant ?? .max)
            for set in inOrder { paths.append(try Self.path(of: stream, in: set, at: instant)) }
            opened.append(
                OpenedStream(stream: stream, readers: Self.open(paths, of: stream)))
        }
        self.opened = opened
    }

    /// The store files that are read for a stream.
    func paths(of stream: String) -> [String] {
        opened.filter { $0.stream == stream }.flatMap(\.usable).map(\.path)
    }

    /// The path of a stream's store, which may be missing. A store that was in force at the instant must exist.
    private static func path(
        of stream: String, in sets: PromotionJournal, at instant: Int64?
    ) throws(InspectionError) -> String {
        guard let instant else {
            return try InspectionError.ofStores { () throws(StoreError) in
                try sets.presentPath(of: stream)
            }
        }
        let path = sets.path(of: stream, atMilliseconds: instant)
        let exists = FileManager.default.fileExists(atPath: path)
        guard exists || path == sets.path(of: stream) else {
            throw .storeGone(path: path, instant: UTC.text(milliseconds: instant))
        }
        return path
    }

    static func sets(of directories: [String]) throws(InspectionError) -> [PromotionJournal] {
        try InspectionError.ofStores { () throws(StoreError) in
            try directories.map { directory throws(StoreError) in
                try PromotionJournal(directory: directory)
            }
        }
    }

    /// The path of the stream's store in force in a data directory.
    package static func path(
        of stream: String, in directory: String
    ) throws(StoreError) -> String {
        try PromotionJournal(directory: directory).presentPath(of: stream)
    }

    /// An unreadable directory would silently hide its partitions.
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
    ) -> Result<[StoreReader], InspectionError> {
        var readers: [StoreReader] = []
        for path in paths where FileManager.default.fileExists(atPath: path) {
            do throws(StoreError) {
                let reader = try StoreReader(path: path)
                guard reader.stream == stream else {
                    throw StoreError.otherStream(
                        path: path, found: reader.stream, wanted: stream)
                }
                readers.append(reader)
            } catch {
                return .failure(.store(error))
            }
        }
        return .success(readers)
    }

    /// The streams among these that have stores. Throws if one of the stores cannot be opened.
    private func readers(
        of streams: some Collection<String>
    ) throws(InspectionError) -> [(stream: String, readers: [StoreReader])] {
        var chosen: [(stream: String, readers: [StoreReader])] = []
        for entry in opened where streams.contains(entry.stream) {
            let readers = try entry.readers.get()
            if !readers.isEmpty { chosen.append((entry.stream, readers)) }
        }
        return chosen
    }

    /// Caches the pages in memory, for several queries, and values for later readers of the stores.
    package func keepPages(_ kept: ReportCache) throws(InspectionError) {
        cache.withLock { $0 = kept }
        try InspectionError.ofStores { () throws(StoreError) in
            for reader in opened.flatMap(\.usable) { try reader.keepPages() }
        }
    }

    /// Calls `body` with one consistent state of the stores of these streams.
    ///
    /// - Throws: `noStore` when none of the streams has a store.
    func view<Value>(
        of streams: [String], _ body: (StoreView) throws -> Value
    ) throws(InspectionError) -> Value {
        let chosen = try readers(of: streams)
        guard !chosen.isEmpty else {
            throw .noStore(streams: streams, directories: directories)
        }
        viewed.withLock { $0.formUnion(chosen.map(\.stream)) }
        let flat = chosen.flatMap { entry in entry.readers.map { (entry.stream, $0) } }
        var answer: Result<Value, InspectionError>?
        do {
            try Self.nest(flat[...], []) { snapshots in
                do {
                    try self.checkLogs(of: snapshots)
                    answer = .success(
                        try body(
                            StoreView(
                                snapshots, present: self.present,
                                cache: self.cache.withLock { $0 }
                            ).limited(by: self.asOf)))
                } catch let error as InspectionError {
                    // Passed around the readers, which would report it as an SQLite error.
                    answer = .failure(error)
                } catch {
                    // The last reader would report errors of other stores as its own.
                    for (_, snapshot) in snapshots {
                        if let fault = snapshot.fault(error) { throw fault }
                    }
                    throw error
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

    /// Calls `body` with one consistent state of the stores of these streams: for each partition, the copy folded
    /// furthest. Rethrows errors of `body` unchanged.
    ///
    /// - Throws: `noStore` when none of the streams has a store.
    package func withSlices<Value>(
        of streams: [String], _ body: ([StoreSlice]) throws -> Value
    ) throws -> Value {
        var answer: Result<Value, any Error>?
        do {
            return try view(of: streams) { view in
                let found = Result { try body(view.slices) }.mapError { error -> any Error in
                    for slice in view.slices {
                        if let fault = slice.snapshot.fault(error) {
                            return InspectionError.store(fault)
                        }
                    }
                    return error
                }
                answer = found
                return found
            }.get()
        } catch {
            // SQLite aborts a transaction in which it reads a damaged page. The end of the transaction then fails too, and
            // only the first error names the page.
            if case .failure(let first)? = answer { throw first }
            throw error
        }
    }

    /// The stores that another version of Weir folded under different rules. Their contents may differ from a fold by
    /// this version.
    ///
    /// - Parameter streams: the streams to check; nil for those that were read.
    package func foldedUnderOtherRules(
        of streams: [String]? = nil
    ) throws(InspectionError) -> [OtherRules] {
        let asked = streams.map(Set.init) ?? viewed.withLock { $0 }
        guard try !readers(of: asked).isEmpty else { return [] }
        return try view(of: asked.sorted()) { view in
            try view.slices.compactMap { slice in
                guard let present = Streams.stream(named: slice.stream)?.rulesNumber else {
                    return nil
                }
                let numbers = try slice.partitions.compactMap { state in
                    try slice.snapshot.configurationOfLastRecord(of: state)?.rulesNumber
                }
                return numbers.first { $0 != present }.map {
                    OtherRules(store: slice.snapshot.path, folded: $0, present: present)
                }
            }
        }
    }

    /// The measures that stores do not count in all of their records, by the path of the store.
    ///
    /// - Parameter streams: the streams to check; nil for those that were read.
    package func unknownMeasures(
        of streams: [String]? = nil
    ) throws(InspectionError) -> [(store: String, measures: [UnknownMeasure])] {
        let asked = streams.map(Set.init) ?? viewed.withLock { $0 }
        guard try !readers(of: asked).isEmpty else { return [] }
        return try view(of: asked.sorted()) { view in
            try view.slices.compactMap { slice in
                let unknown = try slice.snapshot.unknownMeasures()
                return unknown.isEmpty ? nil : (slice.snapshot.path, unknown)
            }
        }
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

    /// Opens a snapshot within the previous one, so that all are open when `body` is called.
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

/// A store that was folded under rules of another version number than the program's.
package struct OtherRules: Equatable, Sendable {
    package let store: String
    package let folded: Int64
    package let present: Int64
}
