import ConfigurationValues
import ConversionModels
import Program
import Store
import Streams

package typealias DumpColumn = AggregateTable.Column

extension DumpColumn {
    /// Whether the column has milliseconds since 1970, which tables show as RFC 3339.
    var isInstant: Bool { note.unit == .milliseconds }

    func reportValue(_ value: StoredValue) -> ReportValue {
        switch value {
        case .integer(let integer) where kind == .boolean: .boolean(integer != 0)
        case .integer(let integer): .integer(Int128(integer))
        case .text(let text): .text(text)
        }
    }

    var reportColumn: ReportTable.Column {
        ReportTable.Column(name, isNumber: kind == .integer, steps: steps)
    }
}

/// The structure of a dump: the sort columns, and the measures that are sums.
package struct DumpDescription: Sendable {
    enum Source: Sendable {
        case aggregate(AggregateTable)
        case toldAndBrought(AggregateTable)
        case refusals(RefusalKind)
    }

    package let name: String
    package let note: String
    package let columns: [DumpColumn]
    /// Its measures, in order. Rejected records are counted only when grouped.
    package let measures: [String]
    /// The streams with such rows in their stores.
    package let streams: [String]
    let source: Source

    package func note(ofMeasure name: String) -> (unit: AggregateTable.Unit, text: String) {
        switch source {
        case .aggregate(let table), .toldAndBrought(let table):
            table.measures.contains(name)
                ? (table.unit(ofMeasure: name), table.note(ofMeasure: name).text)
                : (.count, "postbacks with this value, from conversion-values")
        case .refusals: (.count, "only if rows are grouped")
        }
    }

    /// The aggregates of its rows, by stream; a stream without aggregates supplies rejected records.
    var sources: [(stream: String, tables: [AggregateTable])] {
        streams.map { stream in
            switch source {
            case .aggregate(let table): (stream, [table])
            case .toldAndBrought(let table):
                (stream, stream == PostbacksFold.streamName ? [ConversionValuesKey.table] : [table])
            case .refusals: (stream, [])
            }
        }
    }

    /// What a reader of its table may expect to find in it, and finds elsewhere.
    private var notice: String? {
        name == CostsKey.table.name
            ? "costs contains imported costs only: weir dump funnel has all spend, in cost_micros"
            : nil
    }

    /// Whether its rows count postbacks by the hour of arrival, which determines their windows.
    var hasWindows: Bool { PostbacksFold.tables.contains { $0.name == name && !$0.hasDays } }

    /// Every dump, by name in bytewise order.
    package static let all: [DumpDescription] = stored.map(\.withPostbacks)

    /// The same dumps, each limited to the contents of its own stores.
    static let stored: [DumpDescription] =
        (allStreams.sorted { $0.streamName < $1.streamName }.flatMap { fold in
            fold.tables.map { aggregate($0, of: [fold.streamName]) }
        }
        + [aggregate(OutcomeKey.table, of: OpenStores.streams)]
        + RefusalKind.allCases.map(refusals))
        .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }

    package static func named(_ name: String) throws(InspectionError) -> DumpDescription {
        guard let found = find(name) else { throw .unknownDump(name, valid: reportNames(.sums)) }
        return found
    }

    static func find(_ name: String) -> DumpDescription? { all.first { $0.name == name } }

    private static func aggregate(
        _ table: AggregateTable, of streams: [String]
    ) -> DumpDescription {
        let columns = table.columns.flatMap { column in
            column.kind == .hour
                ? [column, Self.day] : [column]
        }
        let named = CatalogCampaignColumn(columns) == nil ? [] : [CatalogCampaignColumn.column]
        return DumpDescription(
            name: table.name, note: table.note, columns: columns + named,
            measures: table.measures,
            streams: streams,
            source: .aggregate(table))
    }

    /// Adds the values in postbacks to the values sent to installs; other tables are unchanged.
    private var withPostbacks: DumpDescription {
        guard case .aggregate(let table) = source, name == ConversionUpdatesKey.table.name else {
            return self
        }
        return DumpDescription(
            name: name, note: note, columns: columns, measures: measures + ["postbacks"],
            streams: streams + [PostbacksFold.streamName], source: .toldAndBrought(table))
    }

    private static let day = DumpColumn(
        "day", .text, "of the hour, in the time zone of reports", isDefault: false)

    private static func refusals(_ kind: RefusalKind) -> DumpDescription {
        DumpDescription(
            name: kind.rawValue, note: kind.note,
            columns: [
                DumpColumn("topic", .text), DumpColumn("partition", .integer),
                DumpColumn("offset", .integer),
                DumpColumn(
                    "timestamp", .integer, .init("of the record", unit: .milliseconds)),
                DumpColumn("hour", .hour, "of the record's timestamp, UTC", isDefault: false), day,
                DumpColumn("type", .text, "from the record's header"),
                DumpColumn("reason", .text, "from a closed list"),
                DumpColumn("detail", .text, "explanation of the reason"),
            ],
            measures: ["records"], streams: OpenStores.streams, source: .refusals(kind))
    }
}

/// Why records were stored instead of counted; the raw value is the name of the dump.
package enum RefusalKind: String, CaseIterable, Sendable {
    case rejected, untrusted, conflicts

    fileprivate var note: String {
        switch self {
        case .rejected: "Rejected records with their reasons."
        case .untrusted: "Records that were not verified as coming from their stated sender."
        case .conflicts: "Records that repeat an earlier id with different values."
        }
    }

    func includes(reason: String) -> Bool {
        switch RefusedRecord.outcome(ofReason: reason) {
        case .untrusted: self == .untrusted
        case .conflicts: self == .conflicts
        default: self == .rejected
        }
    }
}

extension DumpDescription: Report {
    package var help: String? { nil }
    package var columnNames: [String] { columns.map(\.name) }
    package var measureNames: [String] { measures }
    package var conditionNames: [String] { columnNames + [throughStep].compactMap(\.self) }
    package var abilities: ReportAbilities {
        let all: ReportAbilities = [.amounts, .groups, .scopes, .sums]
        return hasWindows ? all.union(.maturity) : all
    }
    package var catalogColumns: Set<String> {
        Set(columnNames).intersection([CatalogCampaignColumn.name])
    }
    package var pageColumns: [String] {
        columnNames.contains("day") ? ["day"] : Array(columnNames.prefix(1))
    }

    package func check(_ request: ReportRequest) throws(CommandError) {
        try checkDates(request)
        guard !request.curve || !(request.maturity || request.showsNames) else {
            throw .usage("--curve cannot be combined with --maturity or --names: remove one")
        }
    }

    package func answer(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration,
        as format: DumpFormat
    ) throws -> DumpAnswer {
        let conversion = try request.conversion(configuration)
        let dumps = try dumps(configuration, request)
        let isForPeople = format == .table
        func answer(_ table: ReportTable) throws -> DumpAnswer {
            .table(
                try request.arranged(table, of: self, as: format),
                notices: [isForPeople ? notice : nil, conversion?.notice].compactMap(\.self))
        }
        guard !request.curve else {
            return try answer(stores.curves(request, dumps, converting: conversion))
        }
        let read =
            try conversion.map { try stores.dump(request, dumps, converting: $0) }
            ?? stores.dump(request, dumps)
        let dump = try change(request, configuration, as: format)(read)
        guard !request.maturity else {
            return try answer(dump.withMaturity(forPeople: isForPeople))
        }
        // Large dumps are written row by row.
        guard !request.arrangement.isEmpty || isForPeople || conversion != nil else {
            return .dump(dump)
        }
        return try answer(dump.report(forPeople: isForPeople))
    }

    /// Writes stored rows in bounded memory.
    package func write(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration,
        as format: DumpFormat, isRaw: Bool, to sink: ([UInt8]) throws -> Void
    ) throws -> [String] {
        guard request.isOfStoredRows, format != .table else {
            return try writeAnswer(
                request, stores, configuration, as: format, isRaw: isRaw, to: sink)
        }
        let change = try change(request, configuration, as: format)
        try stores.write(
            request, dumps(configuration, request), as: format, isRaw: isRaw, changing: change,
            to: sink)
        return []
    }

    /// The transformation of a dump's rows: adds names and removes measures.
    private func change(
        _ request: ReportRequest, _ configuration: ReportConfiguration, as format: DumpFormat
    ) throws -> (Dump) throws -> Dump {
        let showsReasons = request.showsNames || format == .table
        let catalog = request.showsNames ? try configuration.catalog() : nil
        let apps = request.showsNames ? try configuration.appsByBundle() : [:]
        return {
            [measures = request.measures, leavesOutZeros = request.leavesOutZeros] dump in
            var dump = showsReasons ? dump.withLossReasonNames() : dump
            if let catalog { dump = dump.named(by: catalog, appsByBundle: apps) }
            guard let measures else { return dump }
            dump = try dump.limited(toMeasures: measures)
            return leavesOutZeros ? dump.withoutZeroRows : dump
        }
    }

    package func dependence(_ request: ReportRequest) -> RecordDependence {
        guard case .aggregate(let table) = source, !table.hasDays, !request.maturity,
            !request.curve
        else { return RecordDependence() }
        return RecordDependence(streamsByHour: streams)
    }

    package func shownRows(
        _ request: ReportRequest, _ stores: OpenStores, _ configuration: ReportConfiguration,
        keeping bound: RowBound
    ) throws -> ShownRows {
        let dumps = try dumps(configuration, request)
        let conversion = try request.conversion(configuration)
        if request.curve {
            let table = try stores.curves(request, dumps, converting: conversion)
            let measures = Set(measures + ["maturity"])
            var answer = ShownRows(
                table: table,
                keyCount: table.columns.prefix { !measures.contains($0.name) }.count)
            answer.notices = [conversion?.noticeOfUse].compactMap(\.self)
            return answer
        }
        let (kept, rowCount) =
            try conversion.map { conversion in
                let dump = try stores.dump(request, dumps, converting: conversion)
                return (dump, dump.rows.count)
            } ?? stores.dump(request, dumps, keeping: bound)
        let rows = try request.measures.map { try kept.limited(toMeasures: $0) } ?? kept
        let shown = rows.withLossReasonNames()
        var answer = ShownRows(
            table: shown.report(forPeople: false), keyCount: rows.columns.count)
        answer.firstMeasure = shown.columns.count
        answer.moreRows = rowCount - rows.rows.count
        answer.notices = [conversion?.noticeOfUse].compactMap(\.self)
        return answer
    }

    /// The parts of the configuration that the rows of a request depend on. Only these are read, so that a fault in
    /// another file does not prevent the answer.
    private func dumps(
        _ configuration: ReportConfiguration, _ request: ReportRequest
    ) throws(ConfigurationError) -> DumpConfiguration {
        var hasModels = false
        if case .toldAndBrought = source { hasModels = true }
        return DumpConfiguration(
            models: hasModels ? try configuration.conversionModels() : [],
            catalog: try configuration.catalog(for: request))
    }

    package func figure(
        _ request: ReportRequest, _ configuration: ReportConfiguration
    ) throws -> any Figure { try DumpFigure(request, dumps(configuration, request)) }

    package func provableFigure(
        _ request: ReportRequest, _ configuration: ReportConfiguration
    ) throws -> any Figure { try figure(request, configuration) }

    package func isExplained(_ measure: String, in request: ReportRequest) -> Bool {
        request.dateRule == nil && measure != "maturity" && measure != "final_after"
    }

    package func provedParts(of measure: String) -> [String]? {
        DerivedMeasure.named(measure, of: name)?.measures ?? [measure]
    }

    package func division(
        of measure: String, _ request: ReportRequest, _ stores: OpenStores,
        _ configuration: ReportConfiguration
    ) throws -> FunnelDivision? {
        guard let derived = DerivedMeasure.named(measure, of: name) else { return nil }
        var request = request
        request.grouping = .total
        request.measures = derived.measures
        return derived.division(
            try answer(request, stores, configuration, as: .json).report)
    }

    package func comparedRows(
        _ request: ReportRequest, _ configuration: ReportConfiguration
    ) throws -> ComparedRows {
        ComparedRows(try DumpFigure(counting: request, dumps(configuration, request)))
    }
}
