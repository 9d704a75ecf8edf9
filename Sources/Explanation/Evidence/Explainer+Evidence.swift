import Foundation
import Inspection

extension Explainer {
    /// Writes the rows of a cell, the records behind them and what was left out, and all that is needed to
    /// fold them again, into an archive.
    ///
    /// - Parameters:
    ///   - path: of the archive, which appears as a whole; nothing may be there.
    ///   - mask: hides the secrets of a record; nil when it has none.
    /// - Returns: whether the records add up.
    /// - Throws: what `explain` throws, and `ExplanationError.file`.
    package func writeEvidence(
        of cell: any Cell, _ question: EvidenceQuestion, to path: String,
        mask: @escaping (ExplainedRecord) -> [UInt8]?
    ) throws -> Explanation {
        guard !FileManager.default.fileExists(atPath: path) else {
            throw ExplanationError.file(
                operation: "write", path: path,
                detail:
                    "it is there already, and evidence is never written over; give --out a new file"
            )
        }
        let bundle = try EvidenceBundle(
            cell, in: "\(path).\(UUID().uuidString)", rules: rules, mask: mask)
        var partitions: [String: Set<Int32>] = [:]
        let explanation = try explain(
            cell, measures: { _ in nil },
            eachRow: { place, table, columns, measures in
                partitions[place.stream, default: []].insert(place.partition)
                try bundle.add(place, table, columns, measures)
            },
            atEnd: { copies in
                for copy in copies {
                    let own = Set(copy.partitions.map(\.partition))
                    try bundle.add(
                        copy, partitions: own.intersection(partitions[copy.stream] ?? []))
                }
            }
        ) { record in
            partitions[record.stream, default: []].insert(record.folded.record.partition)
            try bundle.add(record)
        }
        try bundle.finish(explanation, question: question, to: path)
        return explanation
    }
}
