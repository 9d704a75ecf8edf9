import Foundation

/// Compares the stores of a soak with its log, and prints the results.
struct SoakVerdict {
    private(set) var faults: [String] = []
    private let run: SoakRun
    private let published: SoakPublisher.Published

    init(run: SoakRun, memoryBound: Int, recoveryBound: Double) throws {
        self.run = run
        published = run.publisher.published
        print("")
        if let failure = published.failure { faults.append("publishing failed: \(failure)") }
        let log = try SoakLogContents(of: run.workspace, auctions: published.auctions)
        checkLog(log)
        checkOffsets(log)
        try checkTotals(log)
        checkDeadLetters(log)
        try checkDigest(log)
        checkWorkers(memoryBound: memoryBound)
        checkRecovery(bound: recoveryBound)
    }

    private mutating func expect<Value: Equatable>(_ name: String, _ found: Value, _ wanted: Value)
    {
        guard found != wanted else { return }
        faults.append("\(name): \(found), and it is to be \(wanted)")
    }

    private func report(_ name: String, _ explanation: String) {
        print(name.padding(toLength: 34, withPad: " ", startingAt: 0) + explanation)
    }

    private mutating func checkLog(_ log: SoakLogContents) {
        let wanted = published.auctions + published.repetitions + published.poison
        report("disturbances", run.disturbances.values.reduce(0, +).description)
        for (kind, count) in run.disturbances.sorted(by: { $0.key < $1.key }) {
            report("  " + kind, "\(count)")
        }
        report(
            "published",
            "\(published.auctions) auctions, \(published.repetitions) repetitions, "
                + "\(published.poison) that cannot be decoded")
        report(
            "in the log",
            "\(log.records) records, \(log.records - wanted) more than published; "
                + "\(published.failures) appends made again")
        if !log.trimmed.isEmpty {
            faults.append("the log forgot its beginning: more --partitions, fewer --minutes")
        }
        if !log.missing.isEmpty {
            faults.append(
                "\(published.auctions - log.auctions) published auctions are not in the log: "
                    + "\(log.missing) ...")
        }
        if log.records < wanted { faults.append("the log has fewer records than published") }
    }

    private mutating func checkOffsets(_ log: SoakLogContents) {
        let next = run.workspace.nextOffsets(run.directories)
        for (partition, end) in log.ends.sorted(by: { $0.key < $1.key }) {
            expect("next offset of partition \(partition)", next[partition] ?? 0, end)
        }
    }

    private var dataArguments: [String] {
        run.workers.map { "\(run.workspace.path)/\($0.directory)" }
            .filter { FileManager.default.fileExists(atPath: "\($0)/bids.sqlite") }
            .flatMap { ["--data", $0] }
    }

    private func totals(_ name: String) throws -> [String: Int64] {
        let text = try run.workspace.weir(
            ["dump", name, "--by", "total", "--format", "json"] + dataArguments)
        let rows = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]]
        return (rows?.first ?? [:]).compactMapValues { ($0 as? NSNumber)?.int64Value }
    }

    private mutating func checkTotals(_ log: SoakLogContents) throws {
        let poison = Int64(log.poison.values.reduce(0) { $0 + $1.count })
        let outcomes = try totals("outcomes")
        expect("accepted", outcomes["accepted"] ?? 0, published.auctions)
        expect(
            "duplicates", outcomes["duplicates"] ?? 0, log.records - published.auctions - poison)
        expect("rejected", outcomes["rejected"] ?? 0, poison)
        let bids = try totals("bids")
        expect("auctions", bids["auctions"] ?? 0, published.auctions)
        expect("bids", bids["bids"] ?? 0, published.auctions)
        expect("price_micros", bids["price_micros"] ?? 0, published.auctions * 1_000_000)
        report(
            "counted",
            "\(outcomes["accepted"] ?? 0) accepted, \(outcomes["duplicates"] ?? 0) duplicates, "
                + "\(outcomes["rejected"] ?? 0) rejected, \(bids["price_micros"] ?? 0) micros")
    }

    /// Each undecodable record must occur at least once, in order, and no other record.
    private mutating func checkDeadLetters(_ log: SoakLogContents) {
        let all = log.deadLetters.values.reduce(0) { $0 + $1.count }
        let poison = log.poison.values.reduce(0) { $0 + $1.count }
        report("dead letters", "\(all) for \(poison) records")
        for partition in Set(log.poison.keys).union(log.deadLetters.keys).sorted() {
            var seen: Set<Int64> = []
            let first = (log.deadLetters[partition] ?? []).filter { seen.insert($0).inserted }
            let wanted = log.poison[partition] ?? []
            guard first != wanted else { continue }
            let lost = Set(wanted).subtracting(first).sorted()
            let foreign = Set(first).subtracting(wanted).sorted()
            faults.append(
                lost.isEmpty && foreign.isEmpty
                    ? "dead letters of partition \(partition) are not in order"
                    : "dead letters of partition \(partition): \(lost) are missing, \(foreign) "
                        + "do not belong there")
        }
    }

    /// A rebuilt store must have the same digest, and must not publish anything a second time.
    private mutating func checkDigest(_ log: SoakLogContents) throws {
        let workspace = run.workspace
        let merged = try workspace.weir(["digest"] + dataArguments)
        let fresh = try workspace.start(
            "weir-bids",
            [
                "--log", workspace.address, "--data", workspace.path + "/fresh",
                "--pipelines", workspace.pipelines, "--until-end",
            ], log: workspace.path + "/fresh.log")
        fresh.waitUntilExit()
        expect("exit of the fresh worker", fresh.terminationStatus, 0)
        let digest = try workspace.weir(["digest", "--data", workspace.path + "/fresh"])
        expect("digest", merged, digest)
        report("digest", merged.trimmingCharacters(in: .newlines))
        let after = try SoakLogContents(of: workspace, auctions: 0)
        expect(
            "dead letters after a store was folded anew",
            after.deadLetters.values.reduce(0) { $0 + $1.count },
            log.deadLetters.values.reduce(0) { $0 + $1.count })
    }

    private mutating func checkWorkers(memoryBound: Int) {
        let endings = run.workers.flatMap(\.endings)
        report(
            "workers ended",
            "\(endings.count { $0 == .asked }) as asked, \(endings.count { $0 == .killed }) killed, "
                + "\(endings.count { $0 == .fenced }) fenced, "
                + "\(endings.count { if case .byItself = $0 { true } else { false } }) by themselves"
        )
        let fenced = run.disturbances[SoakFault.fenced.rawValue] ?? 0
        if endings.count(where: { $0 == .fenced }) > fenced {
            faults.append("more workers were fenced than names taken")
        }
        if run.workspace.hasSnapshots {
            let restored = run.workers.map(\.restored)
            report("stores lost", "\(run.workers.reduce(0) { $0 + $1.lostDisks })")
            report(
                "partitions from snapshots",
                "\(restored.reduce(0) { $0 + $1.count }), each within "
                    + String(format: "%.2f s", restored.map(\.seconds).max() ?? 0))
        }
        let peaks = run.workers.map(\.peakMemoryMiB)
        report("peak memory", peaks.map { "\($0)" }.joined(separator: ", ") + " MiB")
        if let peak = peaks.max(), peak > memoryBound {
            faults.append("a worker had \(peak) MiB, and the bound is \(memoryBound)")
        }
    }

    private mutating func checkRecovery(bound: Double) {
        report("most records behind", "\(run.largestLag)")
        guard let seconds = run.recoverySeconds else {
            report("caught up", "never")
            faults.append("not everything was folded within 240 s of the last disturbance")
            return
        }
        report("caught up", String(format: "%.1f s after the last disturbance", seconds))
        if seconds > bound {
            faults.append(
                String(format: "it took %.1f s to catch up, and the bound is %.1f", seconds, bound))
        }
    }
}
