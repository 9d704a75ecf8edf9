import ConfigurationFiles
import ConfigurationValues
import Demonstration
import EventLog
import Foundation
import Reports
import Streams
import TestKit
import Testing

@Suite("The cache of reports")
struct ReportCacheTests {
    /// 2026-11-26.
    private static let end: Int64 = 1_795_651_200_000
    private static let days = 9
    private static let day: Int64 = 86_400_000

    /// The rows of an answer, or its error.
    private struct Answer: Equatable, CustomStringConvertible {
        var description: String

        init(_ table: () throws -> ReportTable) {
            do {
                let table = try table()
                description = table.columns.map(\.name).joined(separator: ",")
                for row in table.rows {
                    description += "\n" + row.map(\.plainText).joined(separator: ",")
                }
            } catch {
                description = "\(error)"
            }
        }
    }

    /// Stores that are folded day by day. A few records of each day come a day late.
    private final class Market {
        let workspace = Result { try Workspace() }
        private var late: [String: [OutgoingRecord]] = [:]
        var random = SeededGenerator(seed: 7)
        private let zones = Result {
            try ["UTC", "Europe/Berlin", "Pacific/Auckland"].map { try ReportTimeZone(named: $0) }
        }

        var directory: String { get throws { try workspace.get().path + "/data" } }

        var configuration: ReportConfiguration {
            get throws {
                ReportConfiguration(
                    PipelineDirectory(try workspace.get().pipelines), isNamed: true)
            }
        }

        func fold(_ day: DemoDay) throws {
            let workspace = try workspace.get()
            for stream in allStreams.map({ $0.streamName }) {
                var records = late.removeValue(forKey: stream) ?? []
                for record in day.records[stream] ?? [] {
                    if Int.random(in: 0..<20, using: &random) == 0 {
                        late[stream, default: []].append(record)
                    } else {
                        records.append(record)
                    }
                }
                guard !records.isEmpty else { continue }
                try workspace.publish(stream, records)
                try workspace.fold(stream, workspace.options())
            }
        }

        /// A request of the funnel or of returns, or of another report.
        func request() throws -> ReportRequest {
            Int.random(in: 0..<5, using: &random) < 2
                ? try joinedRequest() : try groupedRequest()
        }

        /// A request of any other report whose rows can be grouped.
        private func groupedRequest() throws -> ReportRequest {
            let names = reportNames(.groups).filter {
                ![Funnel.name, CampaignReturns.name].contains($0)
            }
            let report = try requireReport(names[Int.random(in: 0..<names.count, using: &random)])
            let chosen = report.columnNames.filter { _ in
                Int.random(in: 0..<4, using: &random) == 0
            }
            var request = ReportRequest(
                name: report.name, grouping: chosen.isEmpty ? .total : .columns(chosen))
            request.tellsCurrenciesApart = Bool.random(using: &random)
            request.maturity =
                report.abilities.contains(.maturity) && Int.random(in: 0..<4, using: &random) == 0
            try limitTime(of: &request)
            let conditions = [
                ("ad_network_id", "bp6x1n8trc.skadnetwork"), ("app_id", "6448231907"),
                ("verdict", "valid"), ("day", "2026-11-20"), ("format", "skoverlay"),
                ("catalog_campaign", "5211"), ("through_window", "1"),
            ]
            let (column, value) = conditions[
                Int.random(in: 0..<conditions.count, using: &random)]
            if report.conditionNames.contains(column) {
                request.conditions = [.init(column: column, value: value)]
            }
            return request
        }

        private func limitTime(of request: inout ReportRequest) throws {
            request.timeZone = try zones.get()[Int.random(in: 0..<3, using: &random)]
            func instant() -> Int64 {
                let hours = Int64.random(
                    in: -24...Int64(24 * (ReportCacheTests.days + 1)), using: &random)
                let isOfDay = Int.random(in: 0..<3, using: &random) > 0
                return ReportCacheTests.end - Int64(ReportCacheTests.days) * ReportCacheTests.day
                    + (isOfDay ? hours / 24 * ReportCacheTests.day : hours * 3_600_000)
            }
            let times = [instant(), instant()].sorted()
            if Bool.random(using: &random) { request.sinceMilliseconds = times[0] }
            if Bool.random(using: &random) { request.untilMilliseconds = times[1] }
        }

        private func joinedRequest() throws -> ReportRequest {
            let isReturns = Int.random(in: 0..<4, using: &random) == 0
            var request = ReportRequest(
                name: isReturns ? CampaignReturns.name : Funnel.name,
                grouping: .columns(
                    Funnel.columnNames.filter { _ in Bool.random(using: &random) }))
            if case .columns([]) = request.grouping { request.grouping = .total }
            try limitTime(of: &request)
            if Int.random(in: 0..<3, using: &random) == 0 {
                let conditions = [
                    ("ad_network_id", "bp6x1n8trc.skadnetwork"), ("app_id", "6448231907"),
                    ("campaign", "5211"), ("name", "Kings broad"), ("day", "2026-11-20"),
                ]
                let (column, value) = conditions[Int.random(in: 0..<5, using: &random)]
                request.conditions = [.init(column: column, value: value)]
            }
            guard !isReturns else { return request }
            if Int.random(in: 0..<3, using: &random) == 0 { request.dateRule = .install }
            request.estimates = Int.random(in: 0..<4, using: &random) == 0
            // Without these measures rows have no maturity.
            guard !request.estimates, Bool.random(using: &random) else { return request }
            request.measures = ["wins", "installs", "cost_micros", "roas_max"]
            return request
        }
    }

    private func answer(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration
    ) -> Answer {
        Answer { try request.answer(stores, configuration, as: .json).report }
    }

    /// A cache with sums of an earlier process. Only one process uses a file.
    private struct Restarting {
        let path: String
        private(set) var file: SumsFile?
        private(set) var cache: ReportCache

        init(_ path: String) throws {
            self.path = path
            file = try SumsFile(path: path, program: "one")
            cache = ReportCache(file)
        }

        /// - Parameter change: changes the file between the two processes.
        mutating func restart(
            program: String = "one", _ change: (_ path: String) throws -> Void = { _ in }
        ) throws {
            try file?.write()
            cache = ReportCache()
            file = nil
            try change(path)
            file = try SumsFile(path: path, program: program)
            cache = ReportCache(file)
        }
    }

    @Test(
        "answers every question as the stored rows do, also after restarts, late records and restored files"
    )
    func equality() throws {
        let market = Market()
        let workspace = try market.workspace.get()
        let demo = try Demo(days: Self.days, scale: 0.1, end: Self.end)
        try workspace.write("costs.yaml", "batch_records: 100\n")
        try workspace.write(
            "watch.yaml",
            String(contentsOfFile: Repository.path("pipelines/watch.yaml"), encoding: .utf8))
        for file in demo.configuration { try workspace.write(file.path, file.text) }
        var days: [DemoDay] = []
        try demo.forEachDay { days.append($0) }
        let configuration = try market.configuration
        var restarting = try Restarting(workspace.path + "/sums")
        var asked: [ReportRequest] = []
        func compare(_ count: Int, _ state: String) throws {
            let kept = restarting.cache
            // Some questions are asked again, because records may have changed their kept answers.
            let earlier = asked.suffix(12).shuffled(using: &market.random).prefix(count)
            for request in try earlier + (0..<count).map({ _ in try market.request() }) {
                asked.append(request)
                let stores = try OpenStores(directories: [market.directory])
                let plain = answer(request, stores, configuration)
                let caching = try OpenStores(directories: [market.directory])
                try caching.keepPages(kept)
                let first = answer(request, caching, configuration)
                #expect(first == plain, "\(state): \(request)")
                #expect(answer(request, caching, configuration) == plain, "\(state): \(request)")
                // Pages do not ask for the windows of rows.
                guard !request.maturity else { continue }
                let keeping = configuration.keepingParts(in: kept)
                let shown = Answer {
                    try requireReport(request.name).shownRows(
                        request, stores, configuration, keeping: RowBound(10_000)
                    ).table
                }
                for _ in 0..<2 {
                    let rows = Answer {
                        try kept.rows(
                            request, caching, keeping, keeping: RowBound(10_000),
                            caching.state(kept)
                        ).table
                    }
                    #expect(rows == shown, "\(state): \(request)")
                }
            }
            let watch = try Watch(configuration.directory.watch())
            // Within an hour, at its end, and later.
            for hours in [0, 0, 1, 30] {
                let now = Self.end + Int64(hours) * 3_600_000 + Int64(state.utf8.count)
                func report(_ cache: ReportCache?) throws -> String {
                    let stores = try OpenStores(directories: [market.directory])
                    if let cache { try stores.keepPages(cache) }
                    let report = try stores.watch(watch, nowMilliseconds: now, sinceMilliseconds: 0)
                    return report.summary
                        + report.all.rows.map { $0.map(\.plainText).joined(separator: ",") }
                        .joined(separator: "\n")
                }
                #expect(try report(kept) == report(nil), "\(state): warnings after \(hours) h")
            }
        }
        for (number, day) in days.enumerated() {
            try market.fold(day)
            // A file that is damaged or of another program is begun again.
            switch number {
            case 3:
                try restarting.restart { path in
                    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
                    try file.seek(toOffset: 40_000)
                    try file.write(contentsOf: Data(repeating: 0xFF, count: 9_000))
                    try file.close()
                }
            case 7: try restarting.restart(program: "other")
            default: try restarting.restart()
            }
            try compare(4, "day \(number)")
            guard number == 4 || number == 6 else { continue }
            // In place, so that the file keeps its identity.
            for stream in ["bids", "postbacks"] {
                let path = try "\(market.directory)/\(stream).sqlite"
                if number == 4 {
                    try FileManager.default.copyItem(atPath: path, toPath: path + ".old")
                } else {
                    let old = try Data(contentsOf: URL(fileURLWithPath: path + ".old"))
                    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
                    try file.truncate(atOffset: 0)
                    try file.write(contentsOf: old)
                    try file.close()
                }
            }
            try compare(4, "restored on day \(number)")
        }
    }
    @Test("sums of an earlier process are used instead of rows")
    func sumsOfAnEarlierProcess() throws {
        let market = Market()
        let workspace = try market.workspace.get()
        let demo = try Demo(days: 4, scale: 0.1, end: Self.end)
        try workspace.write("costs.yaml", "batch_records: 100\n")
        for file in demo.configuration { try workspace.write(file.path, file.text) }
        try demo.forEachDay { try market.fold($0) }
        let configuration = try market.configuration
        let path = workspace.path + "/sums"
        let requests = [
            ReportRequest(name: Funnel.name, grouping: .columns(["day", "campaign"])),
            ReportRequest(name: BidsKey.table.name, grouping: .columns(["day", "exchange"])),
            ReportRequest(name: FraudSignals.name, grouping: .total),
        ]
        /// The answers and the number of values that were read from rows.
        func ask(_ program: String) throws -> (answers: [Answer], read: Int) {
            let file = try SumsFile(path: path, program: program)
            let stores = try OpenStores(directories: [market.directory])
            try stores.keepPages(ReportCache(file))
            let answers = requests.map { answer($0, stores, configuration) }
            return (answers, try file.write())
        }
        let first = try ask("one")
        #expect(first.read > 10)
        let second = try ask("one")
        #expect(second.read == 0)
        #expect(second.answers == first.answers)
        #expect(try ask("other").read == first.read)
    }

    @Test("a file of sums has one user")
    func oneUser() throws {
        let workspace = try Workspace()
        let file = try SumsFile(path: workspace.path + "/sums", program: "one")
        #expect(throws: (any Error).self) {
            try SumsFile(path: workspace.path + "/sums", program: "one")
        }
        #expect(try file.write() == 0)
    }
}
