import ConfigurationValues
import Program
import Store
import Streams

extension DumpDescription: Report {
    package var help: String? { nil }
    package var columnNames: [String] { columns.map(\.name) }
    package var measureNames: [String] { measures }
    package var abilities: ReportAbilities {
        let all: ReportAbilities = [.amounts, .groups, .scopes, .sums]
        return hasWindows ? all.union(.maturity) : all
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
        let query = try configured(request.query, configuration)
        func answer(_ table: ReportTable) throws -> DumpAnswer {
            .table(
                try request.arranged(table, of: self, as: format),
                notices: [conversion?.notice].compactMap(\.self))
        }
        guard !request.curve else {
            return try answer(stores.curves(query, converting: conversion))
        }
        let read =
            try conversion.map { try stores.dump(query, converting: $0) } ?? stores.dump(query)
        let dump = try change(request, configuration, as: format)(read)
        let isForPeople = format == .table
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
            configured(request.query, configuration), as: format, isRaw: isRaw, changing: change,
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
            [measures = request.query.measures, leavesOutZeros = request.leavesOutZeros] dump in
            var dump = showsReasons ? dump.withLossReasonNames() : dump
            if let catalog { dump = dump.named(by: catalog, appsByBundle: apps) }
            guard let measures else { return dump }
            dump = try dump.limited(toMeasures: measures)
            return leavesOutZeros ? dump.withoutZeroRows : dump
        }
    }

    /// Adds the models that explain values, if the rows have any.
    package func configured(
        _ query: DumpQuery, _ configuration: ReportConfiguration
    ) throws(ConfigurationError) -> DumpQuery {
        guard case .toldAndBrought = source else { return query }
        var query = query
        query.conversionModels = try configuration.conversionModels()
        return query
    }

    package func figure(
        _ query: DumpQuery, _ configuration: ReportConfiguration
    ) throws -> any Figure { try DumpFigure(configured(query, configuration)) }

    package func provableFigure(
        _ query: DumpQuery, _ configuration: ReportConfiguration
    ) throws -> any Figure { try figure(query, configuration) }

    package func isExplained(_ measure: String, in request: ReportRequest) -> Bool {
        !request.curve && request.dateRule == nil && measure != "maturity"
            && measure != "final_after"
    }

    package func comparedRows(
        _ query: DumpQuery, _ configuration: ReportConfiguration
    ) throws -> ComparedRows {
        ComparedRows(try DumpFigure(counting: configured(query, configuration)))
    }
}
