import Program
import Store
import Streams

/// What stores are asked for by a name: rows of columns and measures. A dump of stored rows is one, and what is computed
/// of several dumps another.
///
/// Commands, pages, files and help texts follow from it, and recognise no report by its name. To add a computed report,
/// write its file and name it in `allReports`: `ClickRatesReport` is a short one.
package protocol Report: Sendable {
    var name: String { get }
    /// What its rows are.
    var note: String { get }
    /// The paragraph of `weir dump --help`; nil where columns and measures say all.
    var help: String? { get }
    /// The columns that rows are grouped and chosen by.
    var columnNames: [String] { get }
    /// All other columns, also those that only some requests have; none where they are no sums.
    var measureNames: [String] { get }
    /// The streams whose stores it reads.
    var streams: [String] { get }
    var abilities: ReportAbilities { get }
    /// Measures that are of a whole app, whichever of its campaigns a row is of.
    var appMeasures: [String] { get }
    /// Columns whose values the catalog decides.
    var catalogColumns: Set<String> { get }
    /// The note on its own page.
    var pageNote: String { get }
    /// The columns that its page groups rows by before a reader chooses.
    var pageColumns: [String] { get }

    /// Throws for what cannot be asked of it together.
    func check(_ request: ReportRequest) throws(CommandError)
    /// Reads the rows from the stores.
    ///
    /// - Parameter format: tables are for people, and have times as times.
    func answer(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration,
        as format: DumpFormat
    ) throws -> DumpAnswer
    /// Writes the same as it is read.
    ///
    /// - Returns: what a reader should know beside the rows.
    func write(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration,
        as format: DumpFormat, isRaw: Bool, to sink: ([UInt8]) throws -> Void
    ) throws -> [String]

    /// Why no record adds to its rows, and what to explain instead; nil for rows that `number` explains.
    var reasonWithoutNumber: String? { get }
    /// What the rows are made of, to be explained.
    func figure(_ query: DumpQuery, _ configuration: ReportConfiguration) throws -> any Figure
    /// What the rows are made of, to be proved: sums of stored rows alone.
    func provableFigure(
        _ query: DumpQuery, _ configuration: ReportConfiguration
    ) throws -> any Figure
    /// The measures whose rows prove a measure; nil for what needs the rows of others too.
    func provedParts(of measure: String) -> [String]?
    /// Whether records add up to a measure of a request's rows, so that it can be explained.
    func isExplained(_ measure: String, in request: ReportRequest) -> Bool
    /// What a rate divides over all rows; nil for a measure that is none.
    func division(
        of measure: String, _ query: DumpQuery, _ stores: OpenStores,
        _ configuration: ReportConfiguration
    ) throws -> FunnelDivision?
    /// Which parts of a cost count over all rows; nil for another measure.
    func costInWords(
        _ measure: String, _ query: DumpQuery, _ stores: OpenStores,
        _ configuration: ReportConfiguration
    ) throws -> String?
    /// The streams that a measure is computed from.
    func streams(of measure: String) -> [String]
    /// The rows that two sets of stores, or two instants, are compared by.
    func comparedRows(
        _ query: DumpQuery, _ configuration: ReportConfiguration
    ) throws -> ComparedRows
}

/// What can be asked of a report besides rows, columns and time.
package struct ReportAbilities: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Postbacks count on the day of their arrival or of their install, and revenue can be estimated.
    package static let dates = ReportAbilities(rawValue: 1)
    /// Rows can have the share of closed windows.
    package static let maturity = ReportAbilities(rawValue: 2)
    /// It has amounts of money, which can be converted.
    package static let amounts = ReportAbilities(rawValue: 4)
    /// Rows add up, so that columns to group by can be chosen.
    package static let groups = ReportAbilities(rawValue: 8)
    /// Rows of some campaigns say nothing of others, so that readers of these alone may see them.
    package static let scopes = ReportAbilities(rawValue: 16)
    /// Rows are sums of stored rows, which evidence proves and comparisons compare.
    package static let sums = ReportAbilities(rawValue: 32)
    /// It joins streams: its period ends with the newest event of any.
    package static let endsWithEvents = ReportAbilities(rawValue: 64)
}

/// What is computed of several dumps, in the order in which it is listed. Dumps of stored rows are
/// `DumpDescription.all`.
package let allReports: [any Report] = [
    FunnelReport(), ReturnsReport(), ClickRatesReport(), FraudSignalsReport(), NullEstimates(),
]

/// The names of dumps and computed reports that can do something.
package func reportNames(_ abilities: ReportAbilities = []) -> [String] {
    (DumpDescription.all + allReports).filter { $0.abilities.isSuperset(of: abilities) }
        .map(\.name)
}

/// The report of a name, if it can do something. Throws `unknownDump`.
package func knownReport(
    _ name: String, _ abilities: ReportAbilities = []
) throws(InspectionError) -> any Report {
    guard let report = allReports.first(where: { $0.name == name }) ?? DumpDescription.find(name),
        report.abilities.isSuperset(of: abilities)
    else { throw .unknownDump(name, known: reportNames(abilities)) }
    return report
}

/// What computed reports have in common.
extension Report {
    package var appMeasures: [String] { [] }
    package var catalogColumns: Set<String> { [] }
    package var pageNote: String { note }
    package var pageColumns: [String] { [] }

    package func check(_ request: ReportRequest) throws(CommandError) {
        try checkComputed(request)
    }

    func checkComputed(_ request: ReportRequest) throws(CommandError) {
        guard !request.curve, !request.maturity else {
            throw .usage("\(name) stands without --curve and --maturity")
        }
        try checkDates(request)
    }

    func checkDates(_ request: ReportRequest) throws(CommandError) {
        guard request.dateRule == nil else {
            throw .usage("--date is of the funnel: \(name) goes by the hour of its records")
        }
        guard !request.estimates else {
            throw .usage("--estimate is of the funnel: \(name) has no estimates")
        }
    }

    package func write(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration,
        as format: DumpFormat, isRaw: Bool, to sink: ([UInt8]) throws -> Void
    ) throws -> [String] {
        try writeAnswer(request, stores, configuration, as: format, isRaw: isRaw, to: sink)
    }

    func writeAnswer(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration,
        as format: DumpFormat, isRaw: Bool, to sink: ([UInt8]) throws -> Void
    ) throws -> [String] {
        let answer = try answer(request, stores, configuration, as: format)
        try answer.write(as: format, isRaw: isRaw, to: sink)
        return answer.notices
    }

    package var reasonWithoutNumber: String? { nil }

    package func figure(
        _ query: DumpQuery, _: ReportConfiguration
    ) throws -> any Figure { try DumpFigure(query) }

    package func provableFigure(
        _ query: DumpQuery, _: ReportConfiguration
    ) throws -> any Figure { try DumpFigure(query) }

    package func provedParts(of measure: String) -> [String]? { [measure] }

    package func isExplained(_: String, in _: ReportRequest) -> Bool { false }

    package func division(
        of _: String, _: DumpQuery, _: OpenStores, _: ReportConfiguration
    ) throws -> FunnelDivision? { nil }

    package func costInWords(
        _: String, _: DumpQuery, _: OpenStores, _: ReportConfiguration
    ) throws -> String? { nil }

    package func streams(of _: String) -> [String] { streams }

    package func comparedRows(
        _ query: DumpQuery, _: ReportConfiguration
    ) throws -> ComparedRows {
        throw InspectionError.unknownDump(query.name, known: reportNames(.sums))
    }
}
