import Foundation

/// CPU time of the whole process and wall time, in seconds, over the spans that are measured.
struct Stopwatch {
    private(set) var cpuSeconds = 0.0
    private(set) var wallSeconds = 0.0

    mutating func measure<Result>(_ body: () throws -> Result) rethrows -> Result {
        let cpu = Self.seconds(CLOCK_PROCESS_CPUTIME_ID)
        let wall = Self.seconds(CLOCK_MONOTONIC)
        defer {
            cpuSeconds += Self.seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu
            wallSeconds += Self.seconds(CLOCK_MONOTONIC) - wall
        }
        return try body()
    }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Largest resident memory of the process so far, in MiB.
    static var peakMemoryMiB: Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_maxrss / 1024
    }

    /// Resident memory of the process now, in MiB.
    static var memoryMiB: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * 4096 / (1 << 20)
    }
}
