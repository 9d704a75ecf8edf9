import Foundation

/// CPU time of the whole process and wall time, in seconds, over the measured spans.
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

    mutating func add(_ other: Stopwatch) {
        cpuSeconds += other.cpuSeconds
        wallSeconds += other.wallSeconds
    }

    /// Runs a program to its end and measures it, with the CPU time of its process.
    mutating func measure(_ program: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        let cpu = Self.childSeconds
        let wall = Self.seconds(CLOCK_MONOTONIC)
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(program: program) }
        cpuSeconds += Self.childSeconds - cpu
        wallSeconds += Self.seconds(CLOCK_MONOTONIC) - wall
    }

    struct Failure: Error, CustomStringConvertible {
        let program: String

        var description: String { "\(program) did not end well: what it said stands above" }
    }

    /// CPU time of all ended children.
    private static var childSeconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) {
            $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
        }
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

    /// Current resident memory of the process, in MiB.
    static var memoryMiB: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * 4096 / (1 << 20)
    }

    /// Bytes that the process has caused to be written to storage, over all files.
    static var bytesWritten: Int {
        let text = (try? String(contentsOfFile: "/proc/self/io", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("write_bytes: ") }
        return line.flatMap { Int($0.dropFirst("write_bytes: ".count)) } ?? 0
    }
}
