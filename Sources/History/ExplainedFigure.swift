import Reports

extension Explainer {
    /// What the rows of a query are made of, to be explained.
    ///
    /// - Throws: `ExplanationError.noFigure` for rows that add up to nothing.
    package static func figure(
        _ query: DumpQuery, _ configuration: ReportConfiguration
    ) throws -> any Figure {
        let report = try knownReport(query.name)
        if let reason = report.reasonWithoutNumber {
            throw ExplanationError.noFigure(dump: query.name, explanation: reason)
        }
        return try report.figure(query, configuration)
    }

    /// The measures of a figure for which a name stands; nil for all. A rate stands for what it is computed from.
    package static func measures(_ name: String?, of figure: any Figure) throws -> [String]? {
        guard let name else { return nil }
        switch figure.parts(ofColumn: name) {
        case .measures(let parts): return parts
        case .noSum(let reason):
            throw ExplanationError.noSum(name, dump: figure.name, explanation: reason)
        case .unknown(let known):
            throw ExplanationError.unknownMeasure(name, dump: figure.name, known: known)
        }
    }
}
