import Collector
import Deliveries
import Engine
import Program
import Streams

/// The programs that this file is under other names: a package installs it once, and links to it by the names of all
/// workers and of the collector.
enum ProgramNames {
    /// All programs but `weir`.
    static var others: [any CommandLineProgram.Type] {
        allStreams.map { worker(of: $0) } + [PartnerPostbacksWorker.self, CollectorProgram.self]
    }

    /// The program of a name, without its directories; nil for `weir` and for unknown names.
    static func program(startedAs path: String?) -> (any CommandLineProgram.Type)? {
        let name = path?.split(separator: "/").last.map(String.init)
        return others.first { $0.programName == name }
    }

    private static func worker<Fold: StreamFold>(
        of stream: Fold.Type
    ) -> any CommandLineProgram.Type {
        StreamWorker<Fold>.self
    }
}
