import ConfigurationValues
import Store
import Streams

/// The rows of a page. They stay valid as long as the records and the configuration that they depend on are the same.
struct KeptAnswer: WrittenValue {
    struct Key: Hashable, CustomStringConvertible {
        let request: ReportRequest
        let bound: RowBound

        var description: String {
            var own = request
            own.timeZone = .utc
            return "\(own) \(bound) \(request.timeZone.rules)"
        }
    }

    struct Version: DigestedVersion, Equatable {
        let records: [String]
        let parts: ConfigurationParts

        var digest: ContentDigest {
            ContentDigest {
                for text in records { $0.append(text) }
                $0.append(parts.digest)
            }
        }

        static func == (one: Version, other: Version) -> Bool {
            one.records == other.records && one.parts === other.parts
        }
    }

    let rows: ShownRows

    init(rows: ShownRows) { self.rows = rows }

    var written: [UInt8]? {
        var writer = KeptWriter()
        writer.append(rows)
        return writer.bytes
    }

    init(_ reader: inout KeptReader) throws { rows = try reader.rows() }

    /// A value takes about fifty bytes.
    var byteCount: Int { 50 * (64 + rows.table.rows.count * rows.table.columns.count) }
}

/// The records that the rows of a request depend on.
package struct RecordDependence {
    /// The streams of which only the records of hours before the end of the request's last day matter. All records of
    /// other streams do.
    var streamsByHour: [String] = []
    /// Whether rows show the share of windows that are closed at the time of the newest record.
    var hasMaturity = false

    /// Windows close at midnight, and the offsets of all time zones since 1972 are whole quarters of an hour.
    fileprivate static let maturityStep: Int64 = 15 * 60_000
}

/// The state of all stores at one time.
package struct StoresState {
    private struct Slice {
        let stream: String
        let hours: FoldedHours
        let newestMilliseconds: Int64
        /// Changes with any record.
        let version: String

        /// Nil if the file is not in place any more.
        init?(_ slice: StoreSlice, _ cache: ReportCache) throws {
            guard let hours = try cache.hours.hours(of: slice) else { return nil }
            stream = slice.stream
            self.hours = hours
            newestMilliseconds = try slice.newestMilliseconds() ?? .min
            version =
                "\(slice.snapshot.path) \(UnitVersion(hours, of: slice)) \(newestMilliseconds)"
        }
    }

    private let slices: [Slice]
    /// The streams whose stores have no known version, for example because one of them is damaged.
    private let unknown: Set<String>

    fileprivate init(of streams: [String], _ stores: OpenStores, _ cache: ReportCache) {
        var slices: [Slice] = []
        var unknown: Set<String> = []
        for stream in streams {
            do {
                slices += try stores.withSlices(of: [stream]) { all in
                    try all.compactMap { slice in
                        guard let own = try Slice(slice, cache) else {
                            unknown.insert(stream)
                            return nil
                        }
                        return own
                    }
                }
            } catch InspectionError.noStore {
                continue
            } catch {
                // Only answers that need the stream fail.
                unknown.insert(stream)
            }
        }
        self.slices = slices
        self.unknown = unknown
    }

    /// The versions of all records of streams; nil if what depends on them must not be kept.
    fileprivate func versions(of streams: [String]) -> [String]? {
        guard unknown.isDisjoint(with: streams) else { return nil }
        return slices.filter { streams.contains($0.stream) }.map(\.version)
    }

    /// The versions of the records that rows depend on; nil if they must not be kept.
    fileprivate func versions(_ request: ReportRequest, of report: any Report) -> [String]? {
        guard unknown.isDisjoint(with: report.streams) else { return nil }
        let dependence = report.dependence(request)
        // The billing of a day can decide about its reported costs, so the last day is needed as a whole.
        let end = request.untilMilliseconds.flatMap { until in
            request.timeZone.bounds(ofDay: request.timeZone.day(milliseconds: until - 1))
        }.map { Hour(containing: $0.end - 1).hoursSince1970 + 1 }
        var versions: [String] = []
        for slice in slices where report.streams.contains(slice.stream) {
            guard let end, dependence.streamsByHour.contains(slice.stream) else {
                versions.append(slice.version)
                continue
            }
            let digest = slice.hours.digest(before: Hour(hoursSince1970: end).text)
            versions.append("\(slice.hours.identity) \(digest.map { "\($0)" } ?? "")")
            guard dependence.hasMaturity else { continue }
            versions.append("\(slice.newestMilliseconds / RecordDependence.maturityStep)")
        }
        return versions
    }
}

extension OpenStores {
    /// The present state of the stores.
    ///
    /// - Parameter streams: nil for all.
    package func state(_ cache: ReportCache, of streams: [String]? = nil) -> StoresState {
        StoresState(of: streams ?? Self.streams, self, cache)
    }
}

extension ReportCache {
    /// The rows of a page: at most so many of a stored dump.
    ///
    /// - Parameter state: that of the stores, or an earlier one.
    package func rows(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration,
        keeping bound: RowBound, _ state: StoresState
    ) throws -> ShownRows {
        let report = try requireReport(request.name)
        guard let parts = configuration.kept, let versions = state.versions(request, of: report)
        else { return try report.shownRows(request, stores, configuration, keeping: bound) }
        let key = KeptAnswer.Key(request: request, bound: bound)
        let version = KeptAnswer.Version(records: versions, parts: parts)
        if let answer = answers.value(key, version) { return answer.rows }
        let rows = try report.shownRows(request, stores, configuration, keeping: bound)
        // A restored backup can have the earlier state again.
        if stores.state(self, of: report.streams).versions(request, of: report) == versions {
            answers.keep(KeptAnswer(rows: rows), key, version)
        }
        return rows
    }

    /// The comparison of copies of postbacks.
    package func reconciliation(
        _ question: ReconciliationQuery, _ stores: OpenStores,
        _ configuration: ReportConfiguration, _ state: StoresState
    ) throws -> Reconciliation {
        let streams = [PostbacksFold.streamName]
        guard let parts = configuration.kept, let versions = state.versions(of: streams)
        else { return try stores.reconciliation(question) }
        var request = question.request
        // Lists have more rows.
        request.curve = question.showsRecords
        request.leavesOutZeros = question.showsMatched
        let key = KeptAnswer.Key(request: request, bound: RowBound(.max))
        let version = KeptAnswer.Version(records: versions, parts: parts)
        if let rows = answers.value(key, version)?.rows {
            return Reconciliation(table: rows.table, notices: rows.notices)
        }
        let found = try stores.reconciliation(question)
        var rows = ShownRows(table: found.table, keyCount: 0)
        rows.notices = found.notices
        if stores.state(self, of: streams).versions(of: streams) == versions {
            answers.keep(KeptAnswer(rows: rows), key, version)
        }
        return found
    }
}
