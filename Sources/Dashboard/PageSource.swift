import ConfigurationFiles
import ConfigurationValues
import EventLog
import Foundation
import History
import Program
import Reports
import Store
import Streams

/// The data of one page. Stores are opened and the catalog is read once for all of its parts.
final class PageSource {
    let installation: Installation
    /// The failed services of this process.
    let failures: [ServiceFailure]
    private let cache: ReportCache
    private var opened: OpenStores?
    /// The state of the stores at the first answer.
    private var state: StoresState?
    private var keptNames: PageNames?
    /// The filters that the parts of the page applied.
    var filterUse = FilterUse()
    /// Read once for all parts of the page.
    let configuration: ReportConfiguration

    /// - Parameter cache: shared by all pages.
    init(
        _ installation: Installation, _ cache: ReportCache = ReportCache(),
        failures: [ServiceFailure] = []
    ) {
        self.installation = installation
        configuration = installation.configuration.keepingParts(in: cache)
        self.failures = failures
        self.cache = cache
    }

    /// The stores currently in force.
    var stores: OpenStores {
        get throws {
            if let opened { return opened }
            let stores = try installation.stores()
            try stores.keepPages(cache)
            opened = stores
            return stores
        }
    }

    /// The option that gives a command the time of this page; empty to use the clock.
    var clockWords: [String] { installation.givenTime.map { ["--at", $0] } ?? [] }

    /// The maximum number of rows that a page reads from a stored dump.
    static let mostRows = 10_000

    /// Answers a request from the current stores, or from those at an earlier instant.
    ///
    /// - Parameter bound: limits the rows of stored dumps, which are otherwise unlimited.
    func answer(
        _ request: ReportAddress, keeping bound: RowBound = RowBound(mostRows)
    ) throws -> PageAnswer {
        let stores = try stores(asOf: request.asOfMilliseconds)
        let resolved = try request.resolved(in: timeZone(of: request))
        let rows =
            request.asOf == nil
            ? try cache.rows(resolved, stores, configuration, keeping: bound, state(of: stores))
            : try requireReport(request.name).shownRows(
                resolved, stores, configuration, keeping: bound)
        var answer = PageAnswer(request, rows)
        if request.name == Funnel.name {
            answer.hasUnknown = try !stores.unknownMeasures().isEmpty
        }
        return answer
    }

    /// Compares copies of postbacks in the current stores.
    func reconciliation(_ question: ReconciliationQuery) throws -> Reconciliation {
        let stores = try stores
        return try cache.reconciliation(question, stores, configuration, state(of: stores))
    }

    private func state(of stores: OpenStores) -> StoresState {
        if let state { return state }
        let read = stores.state(cache)
        state = read
        return read
    }

    /// The time zone of days.
    var timeZone: ReportTimeZone {
        get throws(ConfigurationError) { try configuration.timeZone() }
    }

    /// The time zone of a request. A request without days does not depend on it, nor on a valid catalog.
    func timeZone(of request: ReportAddress) throws(ConfigurationError) -> ReportTimeZone {
        request.isOfDays ? try timeZone : (try? timeZone) ?? .utc
    }

    /// Writes the rows in the same way as `weir dump`.
    ///
    /// - Parameter isWanted: false once the reader has gone; writing then throws `CancellationError`.
    func writeFile(
        of request: ReportAddress, as format: DumpFormat, while isWanted: () -> Bool,
        to sink: ([UInt8]) throws -> Void
    ) throws {
        // A file reads each row once, so caching sums of days is useless.
        let stores = try request.asOfMilliseconds.map(stores(asOf:)) ?? installation.stores(nil)
        var resolved = try request.resolved(in: timeZone(of: request))
        resolved.leavesOutZeros = true
        _ = try resolved.write(stores, configuration, as: format, isRaw: false) { bytes in
            guard isWanted() else { throw CancellationError() }
            try sink(bytes)
        }
    }

    private func stores(asOf milliseconds: Int64?) throws -> OpenStores {
        guard let milliseconds else { return try stores }
        guard milliseconds <= WallClock.milliseconds else {
            throw CommandError.usage("as_of is in the future: give a time in the past")
        }
        return try OpenStores(
            directories: installation.directories,
            asOf: AsOf(milliseconds: milliseconds, hours: installation.hours()),
            present: installation.present)
    }

    /// The furthest copies of each stream with a store.
    func standings() throws -> [StreamStanding] {
        let stores = try stores
        return try OpenStores.streams.compactMap { stream in
            do {
                return try stores.withSlices(of: [stream]) { slices in
                    let states = slices.flatMap(\.partitions)
                    let hasRecords = states.contains { $0.records > 0 }
                    let newest =
                        hasRecords
                        ? try slices.compactMap { try $0.newestMilliseconds() }.max() : nil
                    let positions = states.map { "\($0.partition):\($0.nextOffset)" }
                    return StreamStanding(
                        stream: stream,
                        firstMilliseconds: try slices.compactMap {
                            try $0.firstHour()?.startMilliseconds
                        }.min(), newestMilliseconds: newest,
                        records: states.reduce(0) { $0 + $1.records },
                        ahead: try slices.reduce(0) { $0 + (try $1.aheadCount()) },
                        position:
                            "\(slices.first?.snapshot.topic ?? stream) \(positions.joined(separator: " "))"
                    )
                }
            } catch InspectionError.noStore {
                return nil
            }
        }
    }

    /// The configurations of the last folded records: one for all partitions, or several during a rollout.
    func configurations() throws -> [(
        stream: String, partitions: String, hash: String, text: String
    )] {
        let stores = try stores
        return try OpenStores.streams.flatMap { stream in
            do {
                return try stores.withSlices(of: [stream]) { slices in
                    var partitions: [String: [Int32]] = [:]
                    var texts: [String: String] = [:]
                    for slice in slices {
                        for state in slice.partitions {
                            guard
                                let folded = try slice.snapshot.configurationOfLastRecord(of: state)
                            else { continue }
                            partitions[folded.hash, default: []].append(state.partition)
                            texts[folded.hash] = folded.text
                        }
                    }
                    return partitions.sorted { $0.value.lexicographicallyPrecedes($1.value) }.map {
                        let numbers = $0.value.sorted().map(String.init).joined(separator: ", ")
                        return (stream, numbers, $0.key, texts[$0.key] ?? "")
                    }
                }
            } catch InspectionError.noStore {
                return []
            }
        }
    }

    /// The ad-signing keys of networks, as configured when a record of bids was folded; nil if no store has folded it.
    func adSigningKeys(at position: TopicPosition) throws -> [String: [String]]? {
        try stores.withSlices(of: [BidsFold.streamName]) { slices in
            for slice in slices where slice.snapshot.topic == position.topic {
                let isFolded = slice.partitions.contains {
                    $0.partition == position.partition && position.offset < $0.nextOffset
                }
                guard isFolded else { continue }
                let epoch = try slice.snapshot.epochs(of: position.partition)
                    .last { $0.fromOffset <= position.offset }
                guard let epoch else { continue }
                return try BidsRules(
                    recorded: epoch.configuration, from: .pipelines(installation.pipelines)
                ).adSigningKeys
            }
            return nil
        }
    }

    func storeFiles() -> [StoreFile] {
        installation.directories.flatMap { directory in
            OpenStores.streams.compactMap { stream in
                let path = try? OpenStores.path(of: stream, in: directory)
                guard let path, let found = try? FileManager.default.attributesOfItem(atPath: path)
                else { return nil }
                let wal = try? FileManager.default.attributesOfItem(atPath: "\(path)-wal")
                let changed = [found, wal].compactMap { $0?[.modificationDate] as? Date }.max()
                return StoreFile(
                    path: path, bytes: (found[.size] as? NSNumber)?.int64Value ?? 0,
                    changedMilliseconds: changed.map { Int64($0.timeIntervalSince1970 * 1000) })
            }
        }
    }

    /// The currencies that amounts can be converted into; empty without valid rates.
    var currencies: [String] {
        let directory = installation.pipelines
        return directory.hasRates ? (try? configuration.rates().currencies) ?? [] : []
    }

    /// The catalog's names; none if the catalog is invalid, which the parts of a page report.
    func names(for scope: [ReportRequest.Condition]) -> PageNames {
        if let keptNames { return keptNames }
        let names = PageNames((try? configuration.catalog()) ?? Catalog(), scope: scope)
        keptNames = names
        return names
    }
}
