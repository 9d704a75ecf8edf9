import Program
import Store
import Streams

/// A named report of columns and measures. A dump of stored rows is a report, and so are values computed from several
/// dumps.
///
/// Commands, pages, files and help texts are derived from it and do not test for names. To add a computed report, write
/// its file and add it to `allReports`. `ClickRatesReport` is a short example.
package protocol Report: Sendable {
    var name: String { get }
    /// Describes its rows.
    var note: String { get }
    /// The paragraph in `weir dump --help`; nil where columns and measures suffice.
    var help: String? { get }
    /// The columns that group and filter rows.
    var columnNames: [String] { get }
    /// The names that conditions may have: the columns, and names that select several values of one.
    var conditionNames: [String] { get }
    /// All other columns, including those that only some requests have; empty when they are not sums.
    var measureNames: [String] { get }
    /// The streams that it reads.
    var streams: [String] { get }
    var abilities: ReportAbilities { get }
    /// Measures of a whole app, repeated in the rows of all its campaigns.
    var appMeasures: [String] { get }
    /// Columns with values from the catalog.
    var catalogColumns: Set<String> { get }
    /// The note on the report's own page.
    var pageNote: String { get }
    /// The default grouping columns of its page.
    var pageColumns: [String] { get }

    /// Throws for an invalid combination of options.
    func check(_ request: ReportRequest) throws(CommandError)
    /// Reads the rows from the stores.
    ///
    /// - Parameter format: tables are for people and format times.
    func answer(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration,
        as format: DumpFormat
    ) throws -> DumpAnswer
    /// Reads the rows of a page: at most so many of a stored dump. Ignores options that the report does not have.
    func shownRows(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration,
        keeping bound: RowBound
    ) throws -> ShownRows
    /// Writes the rows while reading.
    ///
    /// - Returns: notices for the reader.
    func write(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration,
        as format: DumpFormat, isRaw: Bool, to sink: ([UInt8]) throws -> Void
    ) throws -> [String]

    /// The records that the rows of a request with an end depend on.
    func dependence(_ request: ReportRequest) -> RecordDependence

    /// Why records do not add to its rows, and what to explain instead; nil for rows that `number` explains.
    var reasonWithoutNumber: String? { get }
    /// The figure that explains its rows.
    func figure(_ request: ReportRequest, _ configuration: ReportConfiguration) throws -> any Figure
    /// The figure that proves its rows: sums of stored rows only.
    func provableFigure(
        _ request: ReportRequest, _ configuration: ReportConfiguration
    ) throws -> any Figure
    /// The measures that prove a measure with their rows; nil when other rows are needed too.
    func provedParts(of measure: String) -> [String]?
    /// Whether a measure of a request's rows is a sum of records, so that it can be explained.
    func isExplained(_ measure: String, in request: ReportRequest) -> Bool
    /// The terms of a rate over all rows; nil for a measure that is not a rate.
    func division(
        of measure: String, _ request: ReportRequest, _ stores: OpenStores,
        _ configuration: ReportConfiguration
    ) throws -> FunnelDivision?
    /// The parts of a cost that count over all rows; nil for another measure.
    func costInWords(
        _ measure: String, _ request: ReportRequest, _ stores: OpenStores,
        _ configuration: ReportConfiguration
    ) throws -> String?
    /// The streams that a measure is computed from.
    func streams(of measure: String) -> [String]
    /// The rows by which two sets of stores, or two instants, are compared.
    func comparedRows(
        _ request: ReportRequest, _ configuration: ReportConfiguration
    ) throws -> ComparedRows
}

/// Options of a report besides rows, columns and time.
package struct ReportAbilities: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Postbacks count on the day of their arrival or of their install, and revenue can be estimated.
    package static let dates = ReportAbilities(rawValue: 1)
    package static let maturity = ReportAbilities(rawValue: 2)
    /// It has amounts of money, which can be converted.
    package static let amounts = ReportAbilities(rawValue: 4)
    /// Rows can be summed, so that grouping columns can be chosen.
    package static let groups = ReportAbilities(rawValue: 8)
    /// Rows of some campaigns do not reveal others, so that readers limited to these may see them.
    package static let scopes = ReportAbilities(rawValue: 16)
    /// Rows are sums of stored rows, which can be proved and compared.
    package static let sums = ReportAbilities(rawValue: 32)
    /// It joins streams: its period ends with the newest event of any.
    package static let endsWithEvents = ReportAbilities(rawValue: 64)
}

/// The computed reports, in listing order. Dumps of stored rows are in `DumpDescription.all`.
package let allReports: [any Report] = [
    FunnelReport(), ReturnsReport(), ClickRatesReport(), FraudSignalsReport(), NullEstimates(),
    RevenueEstimates(),
]

/// The names of dumps and computed reports with these abilities.
package func reportNames(_ abilities: ReportAbilities = []) -> [String] {
    (DumpDescription.all + allReports).filter { $0.abilities.isSuperset(of: abilities) }
        .map(\.name)
}

/// The report of a name, if it has these abilities. Throws `unknownDump`.
package func requireReport(
    _ name: String, _ abilities: ReportAbilities = []
) throws(InspectionError) -> any Report {
    guard let report = allReports.first(where: { $0.name == name }) ?? DumpDescription.find(name),
        report.abilities.isSuperset(of: abilities)
    else { throw .unknownDump(name, valid: reportNames(abilities)) }
    return report
}

/// Defaults of computed reports.
extension Report {
    package var conditionNames: [String] { columnNames }
    package var appMeasures: [String] { [] }
    package var catalogColumns: Set<String> { [] }
    package var pageNote: String { note }
    package var pageColumns: [String] { [] }

    package func check(_ request: ReportRequest) throws(CommandError) {
        try checkComputed(request)
    }

    func checkComputed(_ request: ReportRequest) throws(CommandError) {
        guard !request.curve, !request.maturity else {
            throw .usage("\(name) cannot be combined with --curve or --maturity: remove them")
        }
        try checkDates(request)
    }

    func checkDates(_ request: ReportRequest) throws(CommandError) {
        guard request.dateRule == nil else {
            throw .usage("--date is an option of funnel: \(name) uses the hour of its records")
        }
        guard !request.estimates else {
            throw .usage("--estimate is an option of funnel: \(name) has no estimates")
        }
    }

    package func shownRows(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration,
        keeping _: RowBound
    ) throws -> ShownRows {
        var request = request
        request.curve = false
        if !abilities.contains(.dates) { request.dateRule = nil }
        let answer = try request.answer(stores, configuration, as: .json)
        var rows = ShownRows(table: answer.report, keyCount: answer.report.keyCount)
        rows.notices = answer.notices
        return rows
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

    package func dependence(_: ReportRequest) -> RecordDependence { RecordDependence() }

    package var reasonWithoutNumber: String? { nil }

    package func figure(
        _ request: ReportRequest, _: ReportConfiguration
    ) throws -> any Figure { try DumpFigure(request) }

    package func provableFigure(
        _ request: ReportRequest, _: ReportConfiguration
    ) throws -> any Figure { try DumpFigure(request) }

    package func provedParts(of measure: String) -> [String]? { [measure] }

    package func isExplained(_: String, in _: ReportRequest) -> Bool { false }

    package func division(
        of _: String, _: ReportRequest, _: OpenStores, _: ReportConfiguration
    ) throws -> FunnelDivision? { nil }

    package func costInWords(
        _: String, _: ReportRequest, _: OpenStores, _: ReportConfiguration
    ) throws -> String? { nil }

    package func streams(of _: String) -> [String] { streams }

    package func comparedRows(
        _ request: ReportRequest, _: ReportConfiguration
    ) throws -> ComparedRows {
        throw InspectionError.unknownDump(request.name, valid: reportNames(.sums))
    }
}
