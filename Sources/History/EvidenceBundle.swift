import Crypto
import Foundation
import JSON
import Monitoring
import Reports
import Signatures
import Store
import Streams

extension Explainer {
    /// Writes an archive with the rows of a number, its counted and left-out records, and everything needed to fold
    /// them again.
    ///
    /// - Parameters:
    ///   - measure: the measure to prove; nil for all. Measures of whole apps need the rows that name these apps:
    ///     with them all
    ///     measures are proved.
    ///   - path: the path of the archive, which appears as a whole; no file may exist there.
    ///   - measures: the measures that represent it, as for `explain`.
    ///   - mask: hides the secrets of a record; nil if it has no secrets.
    /// - Returns: whether the records add up.
    /// - Throws: the errors of `explain`, and `ExplanationError.file`.
    package func writeEvidence(
        of figure: any Figure, measure: String? = nil, to path: String,
        measures: (any Figure) throws -> [String]? = { _ in nil },
        mask: @escaping (ExplainedRecord) -> [UInt8]?
    ) throws -> Explanation {
        guard !FileManager.default.fileExists(atPath: path) else {
            throw ExplanationError.file(
                operation: "write", path: path,
                detail:
                    "the file already exists, and evidence is never overwritten; give --out a new file"
            )
        }
        let proved = measure.flatMap { ProvedMeasure($0, of: figure.name) }
        let bundle = try EvidenceBundle(
            figure, proved, in: "\(path).\(UUID().uuidString)", rules: rules, mask: mask)
        var partitions: [String: Set<Int32>] = [:]
        let explanation = try explain(
            figure, measures: proved == nil ? { _ in nil } : measures,
            eachRow: { streamPartition, table, columns, sums in
                guard try bundle.add(streamPartition, table, columns, sums) else { return }
                partitions[streamPartition.stream, default: []].insert(streamPartition.partition)
            },
            atEnd: { slices in
                for slice in slices {
                    try bundle.add(
                        slice,
                        partitions: slice.numbers.intersection(partitions[slice.stream] ?? []))
                }
            }
        ) { record in
            partitions[record.stream, default: []].insert(record.folded.record.partition)
            try bundle.add(record)
        }
        try bundle.finish(explanation, to: path)
        return explanation
    }
}

/// Writes the sources of a number, so that others can check it without the log and the stores.
///
/// It collects the parts in files beside the archive, which replace it once they are complete.
final class EvidenceBundle {
    /// Hides the secrets of a record; nil if it has no secrets.
    typealias Mask = (ExplainedRecord) -> [UInt8]?

    private let figure: any Figure
    /// The proved measure, with the measures that it is computed from; nil for all.
    private let proved: ProvedMeasure?
    private let mask: Mask
    private let rules: RuleSource
    private let directory: String
    private var writers: [EvidenceFile: EvidenceFileWriter] = [:]
    /// Lines of the rows, written in an order that does not depend on a store's history.
    private var rows: [Data] = []
    private var models: Set<EvidenceModel> = []
    private var roots: [String: String] = [:]
    private var logs: [EvidenceManifest.Log] = []
    private var masked: Int64 = 0
    private var untold: Int64 = 0

    /// Begins in a new directory, which is removed at the end.
    init(
        _ figure: any Figure, _ proved: ProvedMeasure?, in directory: String, rules: RuleSource,
        mask: @escaping Mask
    ) throws {
        self.figure = figure
        self.proved = proved
        self.mask = mask
        self.rules = rules
        self.directory = directory
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        for file in EvidenceFile.allCases {
            writers[file] = try EvidenceFileWriter(path(of: file))
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    private func path(of file: EvidenceFile) -> String { "\(directory)/\(file.rawValue)" }

    /// Adds a row that counts; false for one that contributes nothing to the proved measure. Throws `notCounted` if a
    /// sum that is to be proved is unknown.
    func add(
        _ streamPartition: StreamPartition, _ table: AggregateTable, _ columns: [StoredValue],
        _ sums: StoredSums
    ) throws -> Bool {
        let terms = (figure.terms(of: table, columns: columns) ?? []).filter {
            proved?.includes(figure.measures[$0.measure]) ?? true
        }
        if let unknown = terms.first(where: { sums[$0.rowMeasure] == nil }) {
            throw ExplanationError.notCounted(
                measure: table.measures[unknown.rowMeasure], dump: figure.name)
        }
        let measures = sums.amounts
        // If one measure is proved, no record adds to a row without it.
        guard proved == nil || terms.contains(where: { measures[$0.rowMeasure] != 0 }) else {
            return false
        }
        let gives = terms.map { [table.measures[$0.rowMeasure], figure.measures[$0.measure]] }
        rows.append(
            try EvidenceCoding.encode(
                EvidenceRow(
                    stream: streamPartition.stream, partition: streamPartition.partition,
                    aggregate: table.name,
                    columns: Dictionary(
                        zip(table.columns.map(\.name), columns),
                        uniquingKeysWith: { first, _ in first }),
                    measures: Dictionary(
                        zip(table.measures, measures).filter { $0.1 != 0 },
                        uniquingKeysWith: { first, _ in first }),
                    gives: gives)))
        return true
    }

    /// Adds a record and its notes for folding it again.
    func add(_ record: ExplainedRecord) throws {
        let maskedValue = mask(record)
        if maskedValue != nil { masked += 1 }
        if case .untold = record.role { untold += 1 }
        try writers[.records]?.write(EvidenceRecord(record, maskedValue: maskedValue))
        let hasOverflowed =
            record.folded.refusal?.reason == RejectionReason.overflow.name
        guard record.folded.answers != nil || hasOverflowed else { return }
        try writers[.inputs]?.write(
            EvidenceInput(
                stream: record.stream, partition: record.folded.record.partition,
                offset: record.folded.record.offset,
                answers: record.folded.answers.map { Data($0).base64EncodedString() },
                overflow: hasOverflowed ? true : nil))
    }

    /// Adds the configurations in force for partitions of a store.
    func add(_ slice: StoreSlice, partitions: Set<Int32>) throws {
        guard !partitions.isEmpty else { return }
        logs.append(
            EvidenceManifest.Log(
                stream: slice.stream, topic: slice.snapshot.topic,
                identity: slice.snapshot.logIdentity))
        for partition in partitions.sorted() {
            for epoch in try slice.snapshot.epochs(of: partition) {
                try writers[.configurations]?.write(
                    EvidenceConfiguration(
                        stream: slice.stream, topic: slice.snapshot.topic, partition: partition,
                        fromOffset: epoch.fromOffset, sha256: epoch.configuration.hash,
                        dedupeWindowMs: epoch.configuration.dedupeWindowMilliseconds,
                        text: epoch.configuration.text))
                models.formUnion(try EvidenceModel.all(in: epoch.configuration))
                for root in try rules.roots(of: epoch.configuration, stream: slice.stream) {
                    roots[root.fingerprint] = root.pem
                }
            }
        }
    }

    func finish(_ explanation: Explanation, to path: String) throws {
        rows.sort { $0.lexicographicallyPrecedes($1) }
        for row in rows { try writers[.rows]?.write(line: row) }
        for model in models.sorted() { try writers[.models]?.write(model) }
        try writers[.keys]?.write(
            EvidenceKeys(builtIn: TrustedKeys.builtInKeys, roots: roots), pretty: true)
        var files: [EvidenceManifest.File] = []
        for file in EvidenceFile.allCases {
            guard let writer = writers[file] else { continue }
            files.append(try writer.finish(file.rawValue))
        }
        let zone = figure.request.timeZone
        let formatInUTC =
            proved == nil ? EvidenceManifest.formatOfAll : EvidenceManifest.formatOfMeasure
        let manifest = EvidenceManifest(
            format: zone.isUTC ? formatInUTC : EvidenceManifest.currentFormat,
            weir: WeirVersion.current, dump: figure.name, measure: proved?.name,
            where: figure.request.conditions.map { "\($0.column)=\($0.value)" },
            sinceMs: figure.request.sinceMilliseconds, untilMs: figure.request.untilMilliseconds,
            timeZone: zone.isUTC ? nil : zone,
            number: Dictionary(
                explanation.measures.compactMap { measure in
                    measure.stored.map { (measure.name, $0.description) }
                },
                uniquingKeysWith: { first, _ in first }),
            counted: explanation.counted, leftOut: explanation.leftOut,
            untold: untold, masked: masked,
            addsUp: explanation.addsUp, logs: logs, files: files)
        try writeArchive(manifest, to: path)
    }

    private func writeArchive(_ manifest: EvidenceManifest, to path: String) throws {
        let new = "\(directory)/evidence.tar"
        guard FileManager.default.createFile(atPath: new, contents: nil) else {
            throw ExplanationError.file(
                operation: "write", path: new, detail: String(cString: strerror(errno)))
        }
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: new))
        let tar = TarWriter(handle)
        try tar.add(EvidenceManifest.name, EvidenceCoding.encode(manifest, pretty: true))
        for file in manifest.files {
            guard file.bytes <= TarHeader.maxSize else {
                throw ExplanationError.file(
                    operation: "write", path: path,
                    detail: "\(file.name) is larger than 8 GiB: select fewer rows with --where")
            }
            try tar.add(file.name, from: "\(directory)/\(file.name)", size: file.bytes)
        }
        try tar.finish()
        try handle.synchronize()
        try handle.close()
        guard rename(new, path) == 0 else {
            throw ExplanationError.file(
                operation: "write", path: path, detail: String(cString: strerror(errno)))
        }
    }
}

/// Writes one of the files of evidence, line by line, and hashes it.
final class EvidenceFileWriter {
    private let path: String
    private let handle: FileHandle
    private var buffer = Data()
    private var hash = SHA256()
    private var size = 0
    private static let pieceBytes = 1 << 18

    init(_ path: String) throws {
        self.path = path
        guard FileManager.default.createFile(atPath: path, contents: nil) else {
            throw ExplanationError.file(
                operation: "write", path: path, detail: String(cString: strerror(errno)))
        }
        handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    }

    func write(_ part: some Encodable, pretty: Bool = false) throws {
        try write(line: EvidenceCoding.encode(part, pretty: pretty))
    }

    func write(line: Data) throws {
        buffer.append(line)
        if buffer.count >= Self.pieceBytes { try flush() }
    }

    private func flush() throws {
        hash.update(data: buffer)
        size += buffer.count
        try handle.write(contentsOf: buffer)
        buffer.removeAll(keepingCapacity: true)
    }

    /// Ends the file and describes it.
    func finish(_ name: String) throws -> EvidenceManifest.File {
        try flush()
        try handle.close()
        return EvidenceManifest.File(name: name, bytes: size, sha256: hash.finalize().hexDigits)
    }
}

extension Data {
    /// SHA-256 of the bytes, as lower-case hex digits.
    var sha256: String { SHA256.hash(data: self).hexDigits }
}
