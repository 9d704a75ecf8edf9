import Reports

extension Explainer {
    /// The figure to explain for the rows of a query.
    ///
    /// - Throws: `ExplanationError.noFigure` for rows without sums.
    package static func figure(
        _ request: ReportRequest, _ configuration: ReportConfiguration
    ) throws -> any Figure {
        let report = try knownReport(request.name)
        if let reason = report.reasonWithoutNumber {
            throw ExplanationError.noFigure(dump: request.name, explanation: reason)
        }
        return try report.figure(request, configuration)
    }

    /// The measures of a figure for a name; nil for all. A rate gives the measures that it is computed from.
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
