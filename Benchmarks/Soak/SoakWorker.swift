import Foundation

/// A worker that comes and goes, with a store of its own.
final class SoakWorker {
    enum Ending: Equatable {
        case asked
        case killed
        case fenced
        case byItself(String)
    }

    let number: Int
    /// Whether it has a name within its group.
    let isMember: Bool
    private let place: SoakPlace
    private var process: Process?
    private var isKilled = false
    private var isAsked = false
    private var logBegin: UInt64 = 0
    private(set) var isStopped = false
    private(set) var endings: [Ending] = []
    /// Largest resident memory that any of its processes has had, in MiB.
    private(set) var peakMemoryMiB = 0

    init(_ number: Int, isMember: Bool, place: SoakPlace) {
        self.number = number
        self.isMember = isMember
        self.place = place
    }

    var directory: String { "worker-\(number)" }
    private var log: String { "\(place.path)/\(directory).log" }
    var isRunning: Bool { process != nil }
    /// Whether it runs and nothing was done to it.
    var isFree: Bool { isRunning && !isStopped && !isAsked }

    func start() throws {
        (isKilled, isAsked, isStopped) = (false, false, false)
        let attributes = try? FileManager.default.attributesOfItem(atPath: log)
        logBegin = (attributes?[.size] as? NSNumber)?.uint64Value ?? 0
        process = try place.start(
            "weir-bids",
            [
                "--log", place.address, "--data", "\(place.path)/\(directory)",
                "--pipelines", place.pipelines,
            ] + (isMember ? ["--member", "\(number)"] : []), log: log)
    }

    /// Asks it to end.
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

    /// Notes how much memory it has, and how it ended if it did; says the latter.
    func look() -> Ending? {
        guard let process else { return nil }
        peakMemoryMiB = max(peakMemoryMiB, Self.peak(of: process.processIdentifier))
        guard !process.isRunning else { return nil }
        self.process = nil
        let ending = ending(process)
        endings.append(ending)
        return ending
    }

    private func ending(_ process: Process) -> Ending {
        if process.terminationReason == .uncaughtSignal {
            return isKilled && process.terminationStatus == SIGKILL
                ? .killed : .byItself("signal \(process.terminationStatus)")
        }
        if process.terminationStatus == 0, isAsked { return .asked }
        let last = lastLine
        // The words that a member is given whose name was taken.
        if process.terminationStatus == 1, last.contains("--member") { return .fenced }
        return .byItself("exit \(process.terminationStatus): \(last)")
    }

    /// The last line that its process has written to standard error.
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
