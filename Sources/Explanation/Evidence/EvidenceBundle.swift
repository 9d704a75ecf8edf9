import AggregateStore
import Attestation
import ConversionModels
import Foundation
import Inspection
import Monitoring
import Streams
import Worker

/// Writes what a number rests on, so that others can check it without the log and the stores.
///
/// The parts are collected in files beside the archive, which take its place only when it is whole.
final class EvidenceBundle {
    /// Hides the secrets of a record; nil when it has none.
    typealias Mask = (ExplainedRecord) -> [UInt8]?

    private let cell: any Cell
    private let mask: Mask
    private let rules: FoldRuleSource
    private let directory: String
    private var writers: [EvidenceFile: EvidenceFileWriter] = [:]
    private var models: Set<EvidenceModel> = []
    private var roots: [String: String] = [:]
    private var logs: [EvidenceManifest.Log] = []
    private var masked: Int64 = 0
    private var untold: Int64 = 0

    /// Begins in a new directory, which is removed at the end.
    init(_ cell: any Cell, in directory: String, rules: FoldRuleSource, mask: @escaping Mask) throws
    {
        self.cell = cell
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

    /// Takes a stored row that counts.
    func add(
        _ place: CellScan.Place, _ table: AggregateTable, _ columns: [StoredValue],
        _ measures: [Int64]
    ) throws {
        let terms = cell.terms(of: table, columns: columns) ?? []
        try writers[.rows]?.write(
            EvidenceRow(
                stream: place.stream, partition: place.partition, aggregate: table.name,
                columns: Dictionary(
                    zip(table.columns.map(\.name), columns.map { EvidenceValue($0) }),
                    uniquingKeysWith: { first, _ in first }),
                measures: Dictionary(
                    zip(table.measures, measures).filter { $0.1 != 0 },
                    uniquingKeysWith: { first, _ in first }),
                gives: terms.map {
                    [table.measures[$0.rowMeasure], cell.measures[$0.cellMeasure]]
                }))
    }

    /// Takes a record, and what it is folded again with.
    func add(_ record: ExplainedRecord) throws {
        let maskedValue = mask(record)
        if maskedValue != nil { masked += 1 }
        if case .untold = record.role { untold += 1 }
        try writers[.records]?.write(EvidenceRecord(record, maskedValue: maskedValue))
        let hasOverflowed =
            record.folded.refusal?.reason == RejectionReason.overflow.name
        guard record.folded.answers != nil || hasOverflowed else { return }
        try writers[.notes]?.write(
            EvidenceNote(
                stream: record.stream, partition: record.folded.record.partition,
                offset: record.folded.record.offset,
                answers: record.folded.answers.map { Data($0).base64EncodedString() },
                overflow: hasOverflowed ? true : nil))
    }

    /// Takes the configurations that were in force for partitions of a store.
    func add(_ copy: StreamCopy, partitions: Set<Int32>) throws {
        guard !partitions.isEmpty else { return }
        logs.append(
            EvidenceManifest.Log(
                stream: copy.stream, topic: copy.snapshot.topic,
                identity: copy.snapshot.logIdentity))
        for partition in partitions.sorted() {
            for epoch in try copy.snapshot.epochs(of: partition) {
                try writers[.configurations]?.write(
                    EvidenceConfiguration(
                        stream: copy.stream, topic: copy.snapshot.topic, partition: partition,
                        fromOffset: epoch.fromOffset, sha256: epoch.configuration.hash,
                        dedupeWindowMs: epoch.configuration.dedupeWindowMilliseconds,
                        text: epoch.configuration.text))
                models.formUnion(try EvidenceModel.all(in: epoch.configuration))
                for root in try rules.roots(of: epoch.configuration, stream: copy.stream) {
                    roots[root.fingerprint] = root.pem
                }
            }
        }
    }

    /// Writes the archive.
    func finish(_ explanation: Explanation, question: EvidenceQuestion, to path: String) throws {
        for model in models.sorted() { try writers[.models]?.write(model) }
        try writers[.keys]?.write(
            EvidenceKeys(builtIn: TrustedKeys.builtInKeys, roots: roots), pretty: true)
        var files: [EvidenceManifest.File] = []
        for file in EvidenceFile.allCases {
            guard let writer = writers[file] else { continue }
            files.append(try writer.finish(file.rawValue))
        }
        let manifest = EvidenceManifest(
            format: EvidenceManifest.currentFormat, weir: WeirVersion.current, dump: cell.name,
            where: question.conditions, sinceMs: question.sinceMilliseconds,
            untilMs: question.untilMilliseconds,
            number: Dictionary(
                explanation.measures.map { ($0.name, $0.stored.description) },
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
                    detail: "\(file.name) has more than 8 GiB: ask for less with --where")
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

/// What evidence was asked for.
package struct EvidenceQuestion: Sendable {
    /// The conditions as they were given.
    package var conditions: [String]
    /// Only from this time on, in milliseconds since 1970.
    package var sinceMilliseconds: Int64?
    /// Only before this time.
    package var untilMilliseconds: Int64?

    /// Asks.
    package init(
        conditions: [String], sinceMilliseconds: Int64? = nil, untilMilliseconds: Int64? = nil
    ) {
        self.conditions = conditions
        self.sinceMilliseconds = sinceMilliseconds
        self.untilMilliseconds = untilMilliseconds
    }
}

extension EvidenceModel: Comparable {
    /// The versions of the models of a configuration.
    static func all(in configuration: FoldConfiguration) throws -> [EvidenceModel] {
        try [ConversionModel](recordedIn: configuration.text).flatMap { model in
            model.versions.map { version in
                EvidenceModel(
                    configurationSha256: configuration.hash, app: model.app, version: version.id,
                    effectiveFrom: UTC.text(milliseconds: version.effectiveFromMilliseconds),
                    currency: version.currency)
            }
        }
    }

    static func < (left: EvidenceModel, right: EvidenceModel) -> Bool {
        (left.configurationSha256, left.app, left.effectiveFrom, left.version)
            < (right.configurationSha256, right.app, right.effectiveFrom, right.version)
    }
}
