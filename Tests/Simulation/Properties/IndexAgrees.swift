import ConfigurationValues
import History
import Reports
import Streams

extension Comparison {
    /// The index of the stores lists the records of a dump that folding again finds, with the same roles.
    ///
    /// - Returns: whether the index covers the dump; where it does not, explaining folds again.
    func checkIndex(
        of dump: String, openReader: @escaping Explainer.OpenReader, pipelines: PipelineDirectory
    ) throws -> Bool {
        var explainer = Explainer(
            stores: stores, openReader: openReader, address: "the simulated log",
            rules: .pipelines(pipelines))
        explainer.foldedOffsets = -1
        let figure = try Self.figure(of: dump)
        var listed: Set<String> = []
        let indexed = try explainer.explain(figure, limit: .max) { listed.insert(Self.line($0)) }
        guard !indexed.isVerified else { return false }
        var folded: Set<String> = []
        let explanation = try explainer.explain(figure) { folded.insert(Self.line($0)) }
        guard listed == folded, indexed.counted == explanation.counted,
            indexed.leftOut == explanation.leftOut, indexed.measures == explanation.measures
        else {
            let difference = listed.symmetricDifference(folded).min() ?? "in numbers only"
            throw SimulationFault(
                "the index of \(dump) of \(stream) differs from its records: \(difference)")
        }
        // Without reading records, it counts only those that were left out.
        explainer.mostExamined = 0
        let counts = try explainer.explain(figure, limit: 0) { _ in }
        guard counts.leftOut <= explanation.leftOut,
            counts.leftOut + counts.unexamined >= explanation.leftOut
        else {
            throw SimulationFault(
                "the index of \(dump) of \(stream) counts \(counts.leftOut) records as left out, of \(explanation.leftOut)"
            )
        }
        return true
    }

    private static func line(_ record: ExplainedRecord) -> String {
        let folded = record.folded.record
        return "\(record.topic)/\(folded.partition)/\(folded.offset) \(record.role)"
    }

    /// All rows of a dump, of one currency where it has amounts: amounts of several are never added.
    static func figure(of dump: String) throws -> DumpFigure {
        let number = try DumpFigure(ReportRequest(name: dump))
        guard number.measures.contains(where: MoneyByCurrency.isMoney) else { return number }
        return try DumpFigure(
            ReportRequest(name: dump, conditions: [.init(column: "currency", value: "EUR")]))
    }
}
