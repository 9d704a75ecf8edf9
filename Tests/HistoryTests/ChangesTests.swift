import ConfigurationFiles
import ConfigurationValues
import EmbeddedLog
import EventLog
import Foundation
import History
import Reports
import Store
import Streams
import TestKit
import Testing

@Suite("weir dump --as-of and weir changes")
struct ChangesTests {
    private let day: Int64 = 86_400_000
    private let dumps = [
        ("decoded-events", "campaign,model,event,currency"), ("postbacks", "total"),
        ("conversion-values", "day,kind,value"), ("outcomes", "day,type"),
        ("rejected", "partition"),
    ]

    private func hours(_ workspace: Workspace) -> FoldedHours {
        let path = workspace.path + "/log.sqlite"
        return FoldedHours(
            openReader: { try EmbeddedLog(path: path, mode: .existing).reader(topic: $0) },
            address: "sqlite:\(path)", rules: .pipelines(PipelineDirectory(workspace.pipelines)))
    }

    private func models(buckets: String) -> String {
        """
        app: 525463029
        versions:
          - id: first
            effective_from: 2026-11-01T00:00:00Z
            currency: USD
            fine:
              fields:
                - {bits: [0, 2], kind: revenue, buckets: \(buckets), max: 100}
                - {bits: [3, 3], kind: flags, flags: {"3": trial}}

        """
    }

    private func set(
        _ workspace: Workspace, asOf instant: Int64, _ data: String = "data"
    ) throws -> OpenStores {
        try OpenStores(
            directories: [workspace.path + "/" + data],
            asOf: AsOf(milliseconds: instant, hours: hours(workspace)))
    }

    /// Sums by columns and measure.
    private func sums(_ dump: Dump) -> [[String]: Int128] {
        var sums: [[String]: Int128] = [:]
        for row in dump.rows {
            let key = row.columns.map { "\($0)" }
            for (name, sum) in zip(dump.measures, row.measures) where sum != 0 {
                sums[key + [name]] = sum
            }
        }
        return sums
    }

    /// The parts of a change, in the last columns.
    private func integers(_ row: [ReportValue]) -> [Int128] {
        row.suffix(5).map { if case .integer(let integer) = $0 { integer } else { 0 } }
    }

    private func query(_ name: String, _ columns: String) throws -> ReportRequest {
        ReportRequest(name: name, grouping: try .init(columns))
    }

    @Test("as of an instant, a dump is that of a store that has read nothing later")
    func asOf() throws {
        let workspace = try Workspace()
        try workspace.write(
            "postbacks.yaml", SignedPostbacks.configuration(trustsDevelopment: true))
        try workspace.write(Samples.modelFile, models(buckets: "[0, 1, 5]"))
        var postbacks = SignedPostbacks(seed: 21)
        let records = try postbacks.records(300, over: 6 * 3_600_000)
        try workspace.publish("postbacks", records)
        try workspace.foldPostbacks()
        for part in [1, 77, 240] {
            let instant = records[part].timestampMilliseconds ?? 0
            let short = try Workspace()
            try short.copyConfiguration(of: workspace)
            try short.publish(
                "postbacks", records.filter { $0.timestampMilliseconds ?? 0 < instant })
            try short.foldPostbacks()
            let reference = try OpenStores(directories: [short.path + "/data"])
            let asked = try set(workspace, asOf: instant)
            for (name, columns) in dumps {
                let wanted = try sums(reference.dump(query(name, columns)))
                #expect(try sums(asked.dump(query(name, columns))) == wanted, "\(name) \(part)")
            }
            func funnel(_ stores: OpenStores) throws -> [[ReportValue]] {
                try stores.funnel(
                    ReportRequest(name: Funnel.name),
                    ReportConfiguration(catalog: Catalog(), trustsDevelopment: true)
                ).table.rows
            }
            #expect(try funnel(asked) == funnel(reference))
        }
    }

    @Test(
        "as of an instant, every aggregate of a stream is what the records before it added",
        arguments: MeasuredWorkspace.streams)
    func everyStream(stream: String) throws {
        let measured = try MeasuredWorkspace(stream)
        var records = try measured.records(400, seed: 24)
        let times = records.compactMap(\.timestampMilliseconds).sorted()
        if stream == CostsFold.streamName {
            // What a report of before the instant has replaced is to be of before it too.
            for index in records.indices { records[index].timestampMilliseconds = times[index] }
        }
        try measured.fold(records)
        for instant in [times[60] + 1, times[200] + 1, times[399]] {
            var added: [[String]: Int128] = [:]
            try measured.withFolding { folding, snapshot in
                for state in try snapshot.partitionStates() {
                    try folding.fold(partition: state.partition, offsets: 0..<state.nextOffset) {
                        guard max($0.record.timestampMilliseconds, 0) < instant else { return }
                        for addition in $0.additions { add(addition, to: &added) }
                    }
                }
            }
            let asked = try set(measured.workspace, asOf: instant)
            var found: [[String]: Int128] = [:]
            for table in try measured.tables {
                for (key, sum) in try sums(asked.dump(ReportRequest(name: table.name))) {
                    found[[table.name] + key] = sum
                }
            }
            #expect(found == added.filter { $0.value != 0 })
            #expect(!found.isEmpty)
        }
    }

    private func add(_ addition: Addition, to sums: inout [[String]: Int128]) {
        let table = addition.row.table
        let columns = zip(table.columns, addition.row.columns).filter(\.0.isDefault).map {
            "\($0.1)"
        }
        for (measure, amount) in zip(table.measures, addition.measures) {
            sums[[table.name] + columns + [measure], default: 0] += Int128(amount)
        }
    }

    @Test("an hour whose records are gone, and a store that is gone, are refused in words")
    func gone() throws {
        let workspace = try Workspace()
        try workspace.write("postbacks.yaml", Samples.trustedKeys)
        var postbacks = SignedPostbacks(seed: 22)
        try workspace.publish("postbacks", try postbacks.records(40, over: 3_600_000))
        try workspace.foldPostbacks()
        try FileManager.default.removeItem(atPath: workspace.path + "/log.sqlite")
        let inHour = try set(workspace, asOf: Samples.start + 60_000)
        #expect(throws: InspectionError.self) { try inHour.dump(query("postbacks", "total")) }
        // Refused records have their own timestamps, and whole hours are told by rows.
        _ = try inHour.dump(query("rejected", "total"))
        _ = try set(workspace, asOf: Samples.start + 3_600_000).dump(query("postbacks", "total"))
        var sets = try PromotionJournal(directory: workspace.path + "/data")
        try sets.append(
            StorePromotion(
                atMilliseconds: Samples.start + day, kind: .promote,
                streams: ["postbacks": .init(to: ".", from: "gone")]))
        #expect(throws: InspectionError.self) { try set(workspace, asOf: Samples.start) }
        _ = try set(workspace, asOf: Samples.start + day)
    }

    /// A place with a model that was corrected, and with a store that had counted wrong: the set `two` is in
    /// force from the 30th day on, `three` from the 40th.
    private func promotedWorkspace(seed: UInt64) throws -> Workspace {
        let workspace = try Workspace()
        try workspace.write(
            "postbacks.yaml", SignedPostbacks.configuration(trustsDevelopment: false))
        try workspace.write(Samples.modelFile, models(buckets: "[0, 1, 5]"))
        var postbacks = SignedPostbacks(seed: seed)
        try workspace.publish("postbacks", try postbacks.records(400))
        try workspace.foldPostbacks()
        try workspace.write(Samples.modelFile, models(buckets: "[0, 2, 9]"))
        for set in ["two", "three"] { try workspace.foldPostbacks(data: "data/sets/\(set)") }
        try workspace.execute(
            """
            UPDATE decoded_events_sums SET revenue_max_micros = revenue_max_micros + 7;
            UPDATE postbacks_sums SET postbacks = postbacks + 1
            """, stream: "postbacks", data: "data/sets/two")
        var sets = try PromotionJournal(directory: workspace.path + "/data")
        for (days, from, to) in [(30, ".", "sets/two"), (40, "sets/two", "sets/three")] {
            try sets.append(
                StorePromotion(
                    atMilliseconds: Samples.start + Int64(days) * day, kind: .promote,
                    streams: ["postbacks": .init(to: to, from: from)]))
        }
        return workspace
    }

    @Test("the parts of a change add up to it, and each is what the sets say", arguments: [31, 32])
    func partsAddUp(seed: UInt64) throws {
        let workspace = try promotedWorkspace(seed: seed)
        var random = SeededGenerator(seed: seed)
        for round in 0..<6 {
            var instants = (0..<2).map { _ in
                Samples.start + Int64.random(in: 0...(60 * day), using: &random)
            }.sorted()
            if round == 0 { instants = [Samples.start + 29 * day, Samples.start + 31 * day] }
            let (name, columns) = dumps[round % 4]
            try check(workspace, query(name, columns), instants[0], instants[1])
        }
    }

    private func check(
        _ workspace: Workspace, _ query: ReportRequest, _ start: Int64, _ end: Int64
    ) throws {
        let changes = try StoreChanges(
            query, directories: [workspace.path + "/data"], fromMilliseconds: start,
            toMilliseconds: end, hours: hours(workspace))
        func dump(_ instant: Int64, _ data: String = "data") throws -> [[String]: Int128] {
            try sums(set(workspace, asOf: instant, data).dump(query))
        }
        let (from, to) = (try dump(start), try dump(end))
        let steps = [30, 40].filter {
            start < Samples.start + $0 * day && Samples.start + $0 * day <= end
        }
        #expect(changes.notices.count == steps.count)
        // `data` itself now stands for the set in force: the first one is read at a time before.
        let two = steps.contains(30) ? try dump(start, "data/sets/two") : [:]
        let three = steps.contains(40) ? try dump(start, "data/sets/three") : [:]
        let wrong = steps.contains(40) ? try dump(start, "data/sets/two") : [:]
        var seen: Set<[String]> = []
        for row in changes.table.rows where row.first == .text("row") {
            let key = row.dropFirst().dropLast(6).map(\.storedWords)
            guard case .text(let measure) = row[row.count - 6] else { return }
            let cell = key + [measure]
            seen.insert(cell)
            let parts = integers(row)

            #expect(parts[..<4].reduce(0, +) == parts[4])
            #expect(parts[0] == from[cell, default: 0])
            #expect(parts[4] == to[cell, default: 0])
            #expect(
                parts[2]
                    == (steps.contains(30) ? two[cell, default: 0] - from[cell, default: 0] : 0))
            #expect(parts[3] == three[cell, default: 0] - wrong[cell, default: 0])
        }
        for key in Set(from.keys).union(to.keys) where from[key] != to[key] {
            #expect(seen.contains(key))
        }
        let totals = changes.table.rows.filter { $0.first == .text("total") }
        #expect(totals.isEmpty == seen.isEmpty)
    }

    @Test("a funnel's change adds up too, and later times come second")
    func funnel() throws {
        let workspace = try promotedWorkspace(seed: 33)
        let changes = try StoreChanges(
            requireReport(Funnel.name).comparedRows(
                query(Funnel.name, "campaign"), ReportConfiguration(catalog: Catalog())),
            directories: [workspace.path + "/data"], fromMilliseconds: Samples.start + 20 * day + 7,
            toMilliseconds: Samples.start + 50 * day + 7, hours: hours(workspace))
        var causes: [Int128] = [0, 0, 0]
        for row in changes.table.rows {
            let parts = integers(row)

            #expect(parts[..<4].reduce(0, +) == parts[4])
            for part in 0..<3 where parts[part + 1] != 0 { causes[part] += 1 }
        }
        #expect(causes.allSatisfy { $0 > 0 })
        #expect(changes.table.columns.contains { $0.name == "currency" })
        #expect(throws: InspectionError.badTimes) {
            try StoreChanges(
                query("postbacks", "total"), directories: [workspace.path + "/data"],
                fromMilliseconds: 2, toMilliseconds: 1, hours: hours(workspace))
        }
    }
}

extension Workspace {
    fileprivate func copyConfiguration(of other: Workspace) throws {
        try FileManager.default.removeItem(atPath: pipelines)
        try FileManager.default.copyItem(atPath: other.pipelines, toPath: pipelines)
    }
}

extension ReportValue {
    /// As the columns of a dump are written in this test.
    fileprivate var storedWords: String {
        switch self {
        case .text(let text): "\(StoredValue.text(text))"
        case .integer(let integer): "\(StoredValue.integer(Int64(integer)))"
        case .boolean(let boolean): "\(StoredValue.integer(boolean ? 1 : 0))"
        case .null, .decimal, .money: ""
        }
    }
}
