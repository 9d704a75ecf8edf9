import ConfigurationFiles
import ConfigurationValues
import Program
import Streams
import Wording

/// What somebody asks of a dump, by options or in a saved report.
package struct ReportRequest {
    package var query: DumpQuery
    /// Of the funnel: the day of postbacks; nil where nothing is said.
    package var dateRule: FunnelQuery.DateRule?
    package var showsNames = false
    package var estimates = false
    package var maturity = false
    package var curve = false
    package var arrangement = TableArrangement()
    /// Whether rows in which every measure that is asked for is zero are left out, as rows of zeros are.
    package var leavesOutZeros = false
    /// The currency that all amounts are converted into; nil for none.
    package var target: String?

    package init(query: DumpQuery) { self.query = query }

    private var isFunnel: Bool { query.name == Funnel.name }

    /// Without a grouping of their own, the columns that are asked for are what rows are grouped by, so that no two of
    /// them look alike; and only the measures among them are needed.
    package mutating func groupByShownColumns(isGrouped: Bool) throws {
        // Its intervals do not add up: rows stay as they are.
        guard let shown = arrangement.columns, query.name != NullEstimates.name else { return }
        guard query.measures == nil else {
            throw CommandError.usage("--columns names the measures too: leave --measures out")
        }
        let (columns, measures) = try known()
        if !isGrouped {
            let keys = shown.filter(columns.contains)
            query.grouping = keys.isEmpty ? .total : .columns(keys)
        }
        query.measures = (shown + arrangement.orders.map(\.column)).filter(measures.contains)
    }

    /// The columns and the measures that its dump has.
    package func known() throws(InspectionError) -> (columns: [String], measures: [String]) {
        guard !isFunnel else { return (Funnel.columnNames, Funnel.measureNames) }
        guard query.name != CampaignReturns.name else {
            return (CampaignReturns.columnNames, CampaignReturns.measureNames)
        }
        guard query.name != FraudSignals.name else {
            return (FraudSignals.columnNames, FraudSignals.measureNames)
        }
        guard query.name != ClickRates.name else {
            return (ClickRates.columnNames, ClickRates.measureNames)
        }
        guard query.name != NullEstimates.name else { return ([], []) }
        let description: DumpDescription
        do throws(InspectionError) {
            description = try DumpDescription.named(query.name)
        } catch .unknownDump(let name, let known) {
            throw .unknownDump(
                name, known: known + Self.workedOut)
        }
        return (description.columns.map(\.name), description.measures)
    }

    /// Dumps that are worked out of several others.
    package static let workedOut = [
        CampaignReturns.name, ClickRates.name, FraudSignals.name, NullEstimates.name,
    ]

    /// The most rows that a terminal shows. Rows of zeros are hidden there, and do not count: the answer has all rows.
    package mutating func takeLimit() -> Int? {
        defer { arrangement.limit = nil }
        return arrangement.limit
    }

    /// Reads the answer from the stores.
    ///
    /// - Parameter format: tables are for people, and have times as times.
    package func answer(
        _ stores: OpenStores, _ pipelines: ReportConfiguration, as format: DumpFormat
    ) throws -> DumpAnswer {
        try check()
        _ = try known()
        if query.name == FraudSignals.name {
            return try fraudSignals(stores, pipelines, as: format)
        }
        if query.name == ClickRates.name { return try clickRates(stores, as: format) }
        if query.name == NullEstimates.name {
            return try nullEstimates(stores, pipelines, as: format)
        }
        let conversion = try conversion(pipelines)
        if query.name == CampaignReturns.name {
            let returns = try stores.returns(funnelQuery(pipelines), converting: conversion)
            return .table(
                try arranged(limited(returns.table), as: format),
                notices: [FunnelNotice.missing(returns.missingStreams), conversion?.notice]
                    .compactMap(\.self))
        }
        if isFunnel {
            let funnel = try stores.funnel(funnelQuery(pipelines), converting: conversion)
            return .table(
                try arranged(limited(funnel.table), as: format),
                notices: funnel.notices + [conversion?.notice].compactMap(\.self))
        }
        guard !curve else {
            let table = try stores.curves(pipelines.dumpQuery(query), converting: conversion)
            return .table(
                try arranged(table, as: format), notices: [conversion?.notice].compactMap(\.self))
        }
        let dump = try dump(stores, pipelines, conversion, as: format)
        // Large dumps are written a row at a time.
        guard maturity || !arrangement.isEmpty || format == .table || conversion != nil else {
            return .dump(dump)
        }
        let isForPeople = format == .table
        let table =
            maturity
            ? dump.withMaturity(forPeople: isForPeople) : dump.report(forPeople: isForPeople)
        return .table(
            try arranged(table, as: format), notices: [conversion?.notice].compactMap(\.self))
    }

    /// Writes the answer; the rows of a stored dump in bounded memory.
    ///
    /// - Returns: what a reader should know beside the rows.
    package func write(
        _ stores: OpenStores, _ pipelines: ReportConfiguration, as format: DumpFormat, isRaw: Bool,
        to sink: ([UInt8]) throws -> Void
    ) throws -> [String] {
        guard isStored, format != .table else {
            let answer = try answer(stores, pipelines, as: format)
            try answer.write(as: format, isRaw: isRaw, to: sink)
            return answer.notices
        }
        try check()
        let change = try change(pipelines, as: format)
        try stores.write(
            pipelines.dumpQuery(query), as: format, isRaw: isRaw, changing: change, to: sink)
        return []
    }

    /// Whether each row of the answer is a row of a stored dump, in its order.
    private var isStored: Bool {
        !isFunnel && !Self.workedOut.contains(query.name) && !curve && !maturity
            && arrangement.isEmpty && target == nil
    }

    private func clickRates(_ stores: OpenStores, as format: DumpFormat) throws -> DumpAnswer {
        guard target == nil else {
            throw CommandError.usage("\(query.name) has no amounts: leave --in out")
        }
        let rates = try stores.clickRates(query)
        return .table(
            try arranged(limited(rates.table), as: format),
            notices: [FunnelNotice.missing(rates.missingStreams)].compactMap(\.self))
    }

    private func fraudSignals(
        _ stores: OpenStores, _ pipelines: ReportConfiguration, as format: DumpFormat
    ) throws -> DumpAnswer {
        guard target == nil else {
            throw CommandError.usage("\(query.name) has no amounts: leave --in out")
        }
        let signals = try stores.fraudSignals(
            query, trustsDevelopment: pipelines.trustsDevelopment())
        var notices: [String] = []
        if !signals.missingStreams.isEmpty {
            notices.append(
                "no store of \(signals.missingStreams.joined(separator: ", ")): what they would show is not known, and empty here"
            )
        }
        return .table(try arranged(limited(signals.table), as: format), notices: notices)
    }

    private func nullEstimates(
        _ stores: OpenStores, _ pipelines: ReportConfiguration, as format: DumpFormat
    ) throws -> DumpAnswer {
        guard query.measures == nil, !curve, !maturity, !showsNames, target == nil else {
            throw CommandError.usage(
                "\(query.name) stands without --measures, --curve, --maturity, --names and --in")
        }
        let estimates = try stores.nullEstimates(
            query, trustsDevelopment: pipelines.trustsDevelopment())
        return .table(try arranged(estimates.table, as: format), notices: estimates.notices)
    }

    private func conversion(_ pipelines: ReportConfiguration) throws -> CurrencyConversion? {
        guard let target else { return nil }
        guard target.wholeMatch(of: /[A-Z]{3}/) != nil else {
            throw CommandError.usage("--in '\(target)' is no currency: write three capital letters")
        }
        return CurrencyConversion(
            to: target, by: try pipelines.directory.rates(), of: pipelines.directory.ratesPath)
    }

    private func limited(_ table: ReportTable) throws -> ReportTable {
        guard let measures = query.measures else { return table }
        let table = try table.limited(toMeasures: measures)
        return leavesOutZeros ? table.withoutZeroRows : table
    }

    private func arranged(_ table: ReportTable, as format: DumpFormat) throws -> ReportTable {
        do throws(InspectionError) {
            return try table.arranged(arrangement, as: format, of: query.name)
        } catch {
            guard case .unknownColumn(let name, let dump, _) = error else { throw error }
            // The table has those only that were asked for.
            let (columns, measures) = try known()
            let all = columns + measures
            let added = table.columns.map(\.name).filter { !all.contains($0) }
            throw InspectionError.unknownColumn(name, dump: dump, known: all + added)
        }
    }

    private func check() throws(CommandError) {
        guard !isFunnel else { return }
        guard
            !(curve || maturity)
                || !Self.workedOut.contains(query.name)
        else {
            throw .usage("\(query.name) stands without --curve and --maturity")
        }
        guard dateRule == nil else {
            throw .usage(
                "--date is of the funnel: \(query.name) goes by the hour of its records")
        }
        guard !estimates else {
            throw .usage("--estimate is of the funnel: \(query.name) has no estimates")
        }
        guard !curve || !(maturity || showsNames) else {
            throw .usage("--curve stands without --maturity and --names")
        }
    }

    private func dump(
        _ stores: OpenStores, _ pipelines: ReportConfiguration, _ conversion: CurrencyConversion?,
        as format: DumpFormat
    ) throws -> Dump {
        let query = try pipelines.dumpQuery(query)
        let dump =
            try conversion.map { try stores.dump(query, converting: $0) }
            ?? stores.dump(query)
        return try change(pipelines, as: format)(dump)
    }

    /// What is done to the rows of a dump: names are added, and measures left out.
    private func change(
        _ pipelines: ReportConfiguration, as format: DumpFormat
    ) throws -> (Dump) throws -> Dump {
        let showsReasons = showsNames || format == .table
        let catalog = showsNames ? try pipelines.catalog() : nil
        let apps = showsNames ? try pipelines.appsByBundle() : [:]
        return { [measures = query.measures, leavesOutZeros] dump in
            var dump = showsReasons ? dump.withLossReasonNames() : dump
            if let catalog { dump = dump.named(by: catalog, appsByBundle: apps) }
            guard let measures else { return dump }
            dump = try dump.limited(toMeasures: measures)
            return leavesOutZeros ? dump.withoutZeroRows : dump
        }
    }

    package func funnelQuery(_ pipelines: ReportConfiguration) throws -> FunnelQuery {
        var question = try pipelines.funnelQuery(query, dateRule: dateRule ?? .arrival)
        question.estimates = estimates
        return question
    }
}

/// What stores say to a question.
package enum DumpAnswer {
    /// The rows as they are.
    case dump(Dump)
    /// A table, and what a reader should know beside it.
    case table(ReportTable, notices: [String])

    package var report: ReportTable {
        switch self {
        case .dump(let dump): dump.report(forPeople: false)
        case .table(let table, _): table
        }
    }

    package var notices: [String] {
        if case .table(_, let notices) = self { notices } else { [] }
    }

    package func write<Failure: Error>(
        as format: DumpFormat, isRaw: Bool, to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        switch self {
        case .dump(let dump): try dump.write(as: format, isRaw: isRaw, to: sink)
        case .table(let table, _): try table.write(as: format, isRaw: isRaw, to: sink)
        }
    }

    /// Writes a table as a terminal of this width shows it; returns the notices for standard error.
    ///
    /// - Parameters:
    ///   - keepsMeasures: whether the measures were asked for by name, and stay when they are zero.
    ///   - limit: the most rows to show, of those that are not left out; nil for all.
    package func writeTable<Failure: Error>(
        within width: Int, keepsMeasures: Bool, limit: Int?,
        to sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) -> [String] {
        let (table, zeros, zeroRows) = report.withoutZeros(
            keepsMeasures: keepsMeasures, limit: limit)
        try sink(Array(table.lines(within: width).map { $0 + "\n" }.joined().utf8))
        var notices = notices
        let unknown = zeros.filter { name in
            report.columns.firstIndex { $0.name == name }.map { place in
                report.rows.allSatisfy { $0[place] == .null }
            } ?? false
        }
        for (reason, names) in [
            ("zero", zeros.filter { !unknown.contains($0) }), ("not known", unknown),
        ] where !names.isEmpty {
            notices.append(
                "\(reason) in every row and not shown: \(names.joined(separator: ", ")) (--measures shows those that it names)"
            )
        }
        if zeroRows > 0 {
            notices.append(
                "not shown: \(counted(zeroRows, "row")) in which every measure is zero (--format csv has all rows)"
            )
        }
        return notices
    }
}

private enum FunnelNotice {
    /// That some streams have no store; nil when all have one.
    static func missing(_ streams: [String]) -> String? {
        guard !streams.isEmpty else { return nil }
        return
            "no store of \(streams.joined(separator: ", ")): what comes of them is not known, and empty here"
    }
}

extension Funnel {
    /// What a reader should know beside the rows.
    package var notices: [String] {
        guard !unknownBundles.isEmpty else { return sharedNotices }
        return sharedNotices + [
            "notifications of \(unknownBundles.joined(separator: ", ")) are left out: no app of "
                + "store-notifications.yaml has this bundle_id with its app_apple_id"
        ]
    }

    /// The notices that name nobody: of notifications of unknown apps nobody knows whose they are.
    package var sharedNotices: [String] {
        [FunnelNotice.missing(missingStreams)].compactMap(\.self)
    }
}
