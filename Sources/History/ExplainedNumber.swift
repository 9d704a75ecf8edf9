import Reports

extension Explainer {
    /// What the rows of a query are made of, to be explained.
    ///
    /// - Throws: `ExplanationError.noNumber` for rows that add up to nothing.
    package static func number(
        _ query: DumpQuery, _ configuration: ReportConfiguration
    ) throws -> any Number {
        let report = try knownReport(query.name)
        if let reason = report.reasonWithoutNumber {
            throw ExplanationError.noNumber(dump: query.name, explanation: reason)
        }
        return try report.number(query, configuration)
    }

    /// The measures of a number for which a name stands; nil for all. A rate stands for what it is computed from.
    package static func measures(_ name: String?, of number: any Number) throws -> [String]? {
        guard let name else { return nil }
        switch number.parts(ofColumn: name) {
        case .measures(let parts): return parts
        case .noSum(let reason):
            throw ExplanationError.noSum(name, dump: number.name, explanation: reason)
        case .unknown(let known):
            throw ExplanationError.unknownMeasure(name, dump: number.name, known: known)
        }
    }
}
