import CoreMetrics
import Foundation
import Synchronization

/// The sizes of the `-wal` files of stores and logs. SQLite checkpoints them after 16 MiB, and truncates a larger
/// file, unless a reader keeps one transaction open for all that time.
package final class WriteAheadMetrics: Sendable {
    package static let descriptions = [
        MetricDescription(
            "weir_wal_bytes", "Bytes of the -wal file of a store or of an embedded log.")
    ]
    /// A larger file was not checkpointed for long, or contains a single transaction of that size.
    package static let unusualBytes: Int64 = 32 << 20

    private let factory: any MetricsFactory
    private let directory: String
    private let log: String?
    /// The files that have a series.
    private let reported = Mutex<Set<String>>([])

    /// - Parameters:
    ///   - directory: of the stores.
    ///   - log: path of an embedded log, which may be elsewhere; nil without one.
    package init(factory: any MetricsFactory, directory: String, log: String?) {
        self.factory = factory
        self.directory = directory
        self.log = log
    }

    /// Call it before the metrics are printed.
    package func update() {
        let sizes = Self.sizes(directory, log: log)
        reported.withLock { reported in
            reported.formUnion(sizes.keys)
            for path in reported {
                // The name without its directory, which only the operator should see.
                let name = (path as NSString).lastPathComponent
                factory.makeMeter(label: "weir_wal_bytes", dimensions: [("file", name)])
                    .set(sizes[path] ?? 0)
            }
        }
    }

    /// The bytes of each `-wal` file in a directory, and of the log's, by the paths of their databases.
    package static func sizes(_ directory: String, log: String?) -> [String: Int64] {
        let end = ".sqlite-wal"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        var paths = names.filter { $0.hasSuffix(end) }.map {
            "\(directory)/\($0.dropLast("-wal".count))"
        }
        if let log, !paths.contains(log) { paths.append(log) }
        return paths.reduce(into: [:]) { sizes, path in
            var found = stat()
            if stat("\(path)-wal", &found) == 0 { sizes[path] = Int64(found.st_size) }
        }
    }
}
