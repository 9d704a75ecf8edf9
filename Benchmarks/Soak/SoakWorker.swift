import Foundation

/// A worker that is started and stopped, with its own store.
final class SoakWorker {
    enum Ending: Equatable {
        case asked
        case killed
        case fenced
        case byItself(String)
    }

    let number: Int
    /// Whether it has a member name within its group.
    let isMember: Bool
    private let workspace: SoakWorkspace
    private var process: Process?
    private var isKilled = false
    private var isAsked = false
    private var logBegin: UInt64 = 0
    private(set) var isStopped = false
    private(set) var endings: [Ending] = []
    private(set) var lostDisks = 0
    /// Largest resident memory of any of its processes, in MiB.
    private(set) var peakMemoryMiB = 0

    init(_ number: Int, isMember: Bool, workspace: SoakWorkspace) {
        self.number = number
        self.isMember = isMember
        self.workspace = workspace
    }

    var directory: String { "worker-\(number)" }
    /// Of the members with and without a name, one each.
    private var isStandby: Bool { workspace.hasSnapshots && number > 2 }
    private var log: String { "\(workspace.path)/\(directory).log" }
    var isRunning: Bool { process != nil }
    /// Whether it runs undisturbed.
    var isFree: Bool { isRunning && !isStopped && !isAsked }

    func start() throws {
        (isKilled, isAsked, isStopped) = (false, false, false)
        let attributes = try? FileManager.default.attributesOfItem(atPath: log)
        logBegin = (attributes?[.size] as? NSNumber)?.uint64Value ?? 0
        process = try workspace.start(
            "weir-bids",
            [
                "--log", workspace.address, "--data", "\(workspace.path)/\(directory)",
                "--pipelines", workspace.pipelines,
            ] + (isMember ? ["--member", "\(number)"] : []) + (isStandby ? ["--standby"] : []),
            log: log)
    }

    /// Sends SIGTERM.
    func ask() {
        isAsked = true
        signal(SIGTERM)
    }

    func kill() {
        isKilled = true
        isStopped = false
        signal(SIGKILL)
    }

    func halt() {
        isStopped = true
        signal(SIGSTOP)
    }

    func goOn() {
        guard isStopped else { return }
        isStopped = false
        signal(SIGCONT)
    }

    private func signal(_ number: Int32) {
        if let process { Foundation.kill(process.processIdentifier, number) }
    }

    /// Records its memory use and, if it has ended, how; returns the latter.
    func look() -> Ending? {
        guard let process else { return nil }
        peakMemoryMiB = max(peakMemoryMiB, Self.peak(of: process.processIdentifier))
        guard !process.isRunning else { return nil }
        self.process = nil
        let ending = ending(process)
        endings.append(ending)
        if ending == .killed, workspace.hasSnapshots {
            try? FileManager.default.removeItem(atPath: "\(workspace.path)/\(directory)")
            lostDisks += 1
        }
        return ending
    }

    private func ending(_ process: Process) -> Ending {
        if process.terminationReason == .uncaughtSignal {
            return isKilled && process.terminationStatus == SIGKILL
                ? .killed : .byItself("signal \(process.terminationStatus)")
        }
        if process.terminationStatus == 0, isAsked { return .asked }
        let last = lastLine
        // The error of a member after another one has taken its name.
        if process.terminationStatus == 1, last.contains("--member") { return .fenced }
        return .byItself("exit \(process.terminationStatus): \(last)")
    }

    /// How often it has continued a partition from a snapshot, and the longest time of one.
    var restored: (count: Int, seconds: Double) {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        let times = text.split(separator: "\n").compactMap { line -> Double? in
            guard line.contains("restored from a snapshot"),
                let start = line.range(of: "duration=")?.upperBound
            else { return nil }
            return Double(line[start...].prefix { $0.isNumber || $0 == "." })
        }
        return (times.count, times.max() ?? 0)
    }

    /// The last line that its process wrote to standard error.
    private var lastLine: String {
        guard let file = FileHandle(forReadingAtPath: log) else { return "" }
        try? file.seek(toOffset: logBegin)
        let text = (try? file.readToEnd()) ?? Data()
        return String(decoding: text, as: UTF8.self)
            .split(separator: "\n").last.map(String.init) ?? ""
    }

    private static func peak(of id: Int32) -> Int {
        let text = (try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
        return (line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) / 1024
    }
}
