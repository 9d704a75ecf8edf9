/// Makes a finding smaller: fewer steps, streams, workers and kinds of faults, as long as something is found.
package struct Shrinking {
    /// The smallest options so far that find something, and what they find.
    package private(set) var options: Simulation.Options
    package private(set) var report: Simulation.Report
    /// How many runs were tried.
    package private(set) var tries = 0

    private let run: (Simulation.Options) -> Simulation.Report
    private let isTimeLeft: () -> Bool

    /// - Parameters:
    ///   - report: of a run with these options, which has a finding.
    ///   - run: runs the seed with other options.
    ///   - isTimeLeft: asked before each run.
    package init(
        _ report: Simulation.Report, _ options: Simulation.Options,
        while isTimeLeft: @escaping () -> Bool,
        run: @escaping (Simulation.Options) -> Simulation.Report
    ) {
        (self.report, self.options, self.run, self.isTimeLeft) = (report, options, run, isTimeLeft)
        while shrinkOnce() {}
    }

    /// Tries everything once that could be left out. Returns whether something was.
    private mutating func shrinkOnce() -> Bool {
        var hasShrunk = shrinkSteps()
        for stream in report.streams where report.streams.count > 1 {
            hasShrunk = tryOut { $0.streams = [stream] } || hasShrunk
        }
        for stream in report.streams where report.streams.count > 1 {
            let others = Set(report.streams).subtracting([stream])
            hasShrunk = tryOut { $0.streams = others } || hasShrunk
        }
        for most in 1..<max(options.mostWorkers, 1) {
            let isSmaller = tryOut { $0.mostWorkers = most }
            hasShrunk = isSmaller || hasShrunk
            if isSmaller { break }
        }
        // Many kinds at once first.
        for count in [report.kinds.count, report.kinds.count / 2, report.kinds.count / 4]
        where count > 1 {
            for first in stride(from: 0, to: report.kinds.count, by: count) {
                let some = report.kinds.dropFirst(first).prefix(count)
                guard !some.isEmpty else { break }
                hasShrunk = tryOut { $0.without.formUnion(some) } || hasShrunk
            }
        }
        for kind in report.kinds {
            hasShrunk = tryOut { $0.without.insert(kind) } || hasShrunk
        }
        return hasShrunk
    }

    /// A finding in the midst of a run needs no step after it; one at the end may need fewer.
    private mutating func shrinkSteps() -> Bool {
        let before = options.steps
        options.steps = min(options.steps, report.steps)
        for parts in [2, 4, 8, 16] {
            while options.steps > 1,
                tryOut({ $0.steps -= max(1, $0.steps / parts) })
            {
                options.steps = min(options.steps, report.steps)
            }
        }
        return options.steps < before
    }

    private mutating func tryOut(_ change: (inout Simulation.Options) -> Void) -> Bool {
        guard isTimeLeft() else { return false }
        var smaller = options
        change(&smaller)
        guard smaller != options else { return false }
        tries += 1
        let found = run(smaller)
        guard found.finding != nil else { return false }
        (options, report) = (smaller, found)
        return true
    }
}
