import ConfigurationFiles
import Engine
import EventLog
import Foundation
import Program

/// Trims the log of `weir up` at intervals, as `weir log trim` does, on its own thread. What keeps
/// records from being deleted is written once, and stops nothing else.
struct UpTrim {
    /// The default interval.
    static let defaultSeconds = 3600
    private static let pollSeconds = 0.1
    private static let mostSaid = 1000

    let path: String
    let directory: String
    let pipelines: PipelineDirectory
    let topics: TopicDirectory
    let archivePath: String?
    let seconds: Int

    /// Works until a stop is requested. The first trim comes after one interval, when workers have
    /// started.
    func work(until stop: StopSignal) {
        var said: Set<String> = []
        var last = ContinuousClock.now
        while !stop.isRequested {
            Thread.sleep(forTimeInterval: Self.pollSeconds)
            guard last.duration(to: .now) >= .seconds(seconds) else { continue }
            for explanation in once() where said.insert(explanation).inserted {
                Console.write(explanation)
            }
            if said.count > Self.mostSaid { said.removeAll() }
            last = .now
        }
    }

    /// Trims once, and returns the notices.
    private func once() -> [String] {
        do {
            let log = try EmbeddedLog(path: path, mode: .existing)
            let trim = LogTrim(
                log, try topics.topics(),
                needs: try LogNeeds(
                    of: log, directories: [directory], archivePath: archivePath,
                    pipelines: pipelines),
                nowMilliseconds: Int64(Date().timeIntervalSince1970 * 1000))
            let rows = try trim.plan()
            try trim.run(rows)
            let report = TrimReport(rows: rows, isDry: false)
            let isTrimmed = rows.contains { $0.count > 0 }
            if isTrimmed { Console.write(report.summary) }
            return rows.compactMap { row in
                row.holder.map {
                    "the log keeps \(row.topic)/\(row.partition) longer than its retention: \($0) "
                        + "needs it"
                }
            }
        } catch {
            return ["the log was not trimmed: \(CommandError(error)?.explanation ?? "\(error)")"]
        }
    }
}
