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

    private func hours(_ place: Workplace) -> FoldedHours {
        let path = place.path + "/log.sqlite"
        return FoldedHours(
            openReader: { try EmbeddedLog(path: path, mode: .existing).reader(topic: $0) },
            address: "sqlite:\(path)", rules: .pipelines(PipelineDirectory(place.pipelines)))
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
        _ place: Workplace, asOf instant: Int64, _ data: String = "data"
    ) throws -> OpenStores {
        try OpenStores(
            directories: [place.path + "/" + data],
            asOf: AsOf(milliseconds: instant, hours: hours(place)))
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
        let place = try Workplace()
        try place.write("postbacks.yaml", SignedPostbacks.configuration(trustsDevelopment: true))
        try place.write(Samples.modelFile, models(buckets: "[0, 1, 5]"))
        var postbacks = SignedPostbacks(seed: 21)
        let records = try postbacks.records(300, over: 6 * 3_600_000)
        try place.publish("postbacks", records)
        try place.foldPostbacks()
        for part in [1, 77, 240] {
            let instant = records[part].timestampMilliseconds ?? 0
            let short = try Workplace()
            try short.copyConfiguration(of: place)
            try short.publish(
                "postbacks", records.filter { $0.timestampMilliseconds ?? 0 < instant })
            try short.foldPostbacks()
            let known = try OpenStores(directories: [short.path + "/data"])
            let asked = try set(place, asOf: instant)
            for (name, columns) in dumps {
                let wanted = try sums(known.dump(query(name, columns)))
                #expect(try sums(asked.dump(query(name, columns))) == wanted, "\(name) \(part)")
            }
            func funnel(_ stores: OpenStores) throws -> [[ReportValue]] {
                try stores.funnel(
                    ReportRequest(name: Funnel.name),
                    ReportConfiguration(catalog: Catalog(), trustsDevelopment: true)
                ).table.rows
            }
            #expect(try funnel(asked) == funnel(known))
        }
    }

    @Test(
        "as of an instant, every aggregate of a stream is what the records before it added",
        arguments: MeasuredPlace.streams)
    func everyStream(stream: String) throws {
        let measured = try MeasuredPlace(stream)
        var records = try measured.records(400, seed: 24)
        let times = records.compactMap(\.timestampMilliseconds).sorted()
        if stream == CostsFold.streamName {
            // What a report of before the instant has replaced is to be of before it too.
            for place in records.indices { records[place].timestampMilliseconds = times[place] }
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
            let asked = try set(measured.place, asOf: instant)
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
        let place = try Workplace()
        try place.write("postbacks.yaml", Samples.trustedKeys)
        var postbacks = SignedPostbacks(seed: 22)
        try place.publish("postbacks", try postbacks.records(40, over: 3_600_000))
        try place.foldPostbacks()
        try FileManager.default.removeItem(atPath: place.path + "/log.sqlite")
        let inHour = try set(place, asOf: Samples.start + 60_000)
        #expect(throws: InspectionError.self) { try inHour.dump(query("postbacks", "total")) }
        // Refused records have their own timestamps, and whole hours are told by rows.
        _ = try inHour.dump(query("rejected", "total"))
        _ = try set(place, asOf: Samples.start + 3_600_000).dump(query("postbacks", "total"))
        var sets = try PromotionJournal(directory: place.path + "/data")
        try sets.append(
            StorePromotion(
                atMilliseconds: Samples.start + day, kind: .promote,
                streams: ["postbacks": .init(to: ".", from: "gone")]))
        #expect(throws: InspectionError.self) { try set(place, asOf: Samples.start) }
        _ = try set(place, asOf: Samples.start + day)
    }

    /// A place with a model that was corrected, and with a store that had counted wrong: the set `two` is in
    /// force from the 30th day on, `three` from the 40th.
    private func promotedPlace(seed: UInt64) throws -> Workplace {
        let place = try Workplace()
        try place.write("postbacks.yaml", SignedPostbacks.configuration(trustsDevelopment: false))
        try place.write(Samples.modelFile, models(buckets: "[0, 1, 5]"))
        var postbacks = SignedPostbacks(seed: seed)
        try place.publish("postbacks", try postbacks.records(400))
        try place.foldPostbacks()
        try place.write(Samples.modelFile, models(buckets: "[0, 2, 9]"))
        for set in ["two", "three"] { try place.foldPostbacks(data: "data/sets/\(set)") }
        try place.execute(
            """
            UPDATE decoded_events_sums SET revenue_max_micros = revenue_max_micros + 7;
            UPDATE postbacks_sums SET postbacks = postbacks + 1
            """, stream: "postbacks", data: "data/sets/two")
        var sets = try PromotionJournal(directory: place.path + "/data")
        for (days, from, to) in [(30, ".", "sets/two"), (40, "sets/two", "sets/three")] {
            try sets.append(
                StorePromotion(
                    atMilliseconds: Samples.start + Int64(days) * day, kind: .promote,
                    streams: ["postbacks": .init(to: to, from: from)]))
        }
        return place
    }

    @Test("the parts of a change add up to it, and each is what the sets say", arguments: [31, 32])
    func partsAddUp(seed: UInt64) throws {
        let place = try promotedPlace(seed: seed)
        var random = SeededGenerator(seed: seed)
        for round in 0..<6 {
            var instants = (0..<2).map { _ in
                Samples.start + Int64.random(in: 0...(60 * day), using: &random)
            }.sorted()
            if round == 0 { instants = [Samples.start + 29 * day, Samples.start + 31 * day] }
            let (name, columns) = dumps[round % 4]
            try check(place, query(name, columns), instants[0], instants[1])
        }
    }

    private func check(
        _ place: Workplace, _ query: ReportRequest, _ start: Int64, _ end: Int64
    ) throws {
        let changes = try StoreChanges(
            query, directories: [place.path + "/data"], fromMilliseconds: start,
            toMilliseconds: end, hours: hours(place))
        func dump(_ instant: Int64, _ data: String = "data") throws -> [[String]: Int128] {
            try sums(set(place, asOf: instant, data).dump(query))
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
            let place = key + [measure]
            seen.insert(place)
            let parts = integers(row)

            #expect(parts[..<4].reduce(0, +) == parts[4])
            #expect(parts[0] == from[place, default: 0])
            #expect(parts[4] == to[place, default: 0])
            #expect(
                parts[2]
                    == (steps.contains(30) ? two[place, default: 0] - from[place, default: 0] : 0))
            #expect(parts[3] == three[place, default: 0] - wrong[place, default: 0])
        }
        for place in Set(from.keys).union(to.keys) where from[place] != to[place] {
            #expect(seen.contains(place))
        }
        let totals = changes.table.rows.filter { $0.first == .text("total") }
        #expect(totals.isEmpty == seen.isEmpty)
    }

    @Test("a funnel's change adds up too, and later times come second")
    func funnel() throws {
        let place = try promotedPlace(seed: 33)
        let changes = try StoreChanges(
            knownReport(Funnel.name).comparedRows(
                query(Funnel.name, "campaign"), ReportConfiguration(catalog: Catalog())),
            directories: [place.path + "/data"], fromMilliseconds: Samples.start + 20 * day + 7,
            toMilliseconds: Samples.start + 50 * day + 7, hours: hours(place))
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
                query("postbacks", "total"), directories: [place.path + "/data"],
                fromMilliseconds: 2, toMilliseconds: 1, hours: hours(place))
        }
    }
}

extension Workplace {
    fileprivate func copyConfiguration(of other: Workplace) throws {
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
