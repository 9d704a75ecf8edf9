import CoreMetrics
import Foundation
import Synchronization

/// CPU time, memory and start of the process, under the names of Prometheus's own client libraries, and its version.
package final class ProcessMetrics: Sendable {
    package static let descriptions = [
        MetricDescription(
            "process_cpu_seconds_total", "User and system CPU time spent in seconds."),
        MetricDescription("process_resident_memory_bytes", "Resident memory size in bytes."),
        MetricDescription(
            "process_start_time_seconds",
            "Start time of the process since unix epoch in seconds."),
        MetricDescription(
            "weir_build_info", "Always 1; the label contains the version of the program."),
    ]

    private let cpuSeconds: any FloatingPointCounterHandler
    private let residentBytes: any MeterHandler
    private let countedCPUSeconds = Mutex<Double>(0)

    package init(factory: any MetricsFactory) {
        cpuSeconds = factory.makeFloatingPointCounter(
            label: "process_cpu_seconds_total", dimensions: [])
        residentBytes = factory.makeMeter(label: "process_resident_memory_bytes", dimensions: [])
        if let start = Self.startSeconds {
            factory.makeMeter(label: "process_start_time_seconds", dimensions: []).set(start)
        }
        factory.makeMeter(
            label: "weir_build_info", dimensions: [("version", WeirVersion.current)]
        ).set(Int64(1))
        update()
    }

    /// Call it before the metrics are printed.
    package func update() {
        if let bytes = Self.residentBytes { residentBytes.set(bytes) }
        guard let seconds = Self.cpuSeconds else { return }
        countedCPUSeconds.withLock { counted in
            cpuSeconds.increment(by: seconds - counted)
            counted = max(counted, seconds)
        }
    }

    private static var residentBytes: Int64? {
        guard let pages = fields("/proc/self/statm")?.dropFirst().first.flatMap({ Int64($0) })
        else { return nil }
        return pages * Int64(sysconf(Int32(_SC_PAGESIZE)))
    }

    private static var cpuSeconds: Double? {
        var time = timespec()
        guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return nil }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// The kernel counts from the machine's start; see proc(5).
    private static var startSeconds: Double? {
        guard let stat = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
            // The program's name is in parentheses and may contain anything.
            let nameEnd = stat.lastIndex(of: ")"),
            let system = try? String(contentsOfFile: "/proc/stat", encoding: .utf8),
            let boot = system.split(separator: "\n").first(where: { $0.hasPrefix("btime ") }),
            let bootSeconds = boot.split(separator: " ").last.flatMap({ Double($0) })
        else { return nil }
        let fieldsAfterName = stat[nameEnd...].split(separator: " ").dropFirst()
        guard let ticks = fieldsAfterName.dropFirst(19).first.flatMap({ Double($0) })
        else { return nil }
        return bootSeconds + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private static func fields(_ path: String) -> [Substring]? {
        (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: " ")
    }
}

package enum WeirVersion {
    /// The newest version in CHANGELOG.md.
    package static let current = "1.0.0"
}
