import ConfigurationValues
import ConversionModels
import EventLog
import Foundation
import Reports
import Store
import Streams

enum EvidenceFile: String, CaseIterable {
    case rows = "aggregate.ndjson"
    case records = "records.ndjson"
    case inputs = "memory.ndjson"
    case configurations = "configurations.ndjson"
    case models = "models.ndjson"
    case keys = "keys.json"
}

struct EvidenceManifest: Codable {
    struct File: Codable {
        var name: String
        var bytes: Int
        var sha256: String
    }

    struct Log: Codable {
        var stream: String
        var topic: String
        var identity: String
    }

    /// Grows by one with every change that older programs cannot read.
    var format: Int
    var weir: String
    var dump: String
    /// The measure that the number is limited to; nil for all.
    var measure: String?
    var `where`: [String]
    var sinceMs: Int64?
    var untilMs: Int64?
    /// The time zone of days; nil for UTC.
    var timeZone: ReportTimeZone?
    /// The number by measure, in digits.
    var number: [String: String]
    var counted: Int64
    var leftOut: Int64
    /// Records of the same hours that do not contain enough to assign them.
    var untold: Int64
    /// Records with masked secrets.
    var masked: Int64
    /// Whether the records added up to the number when this was written.
    var addsUp: Bool
    var logs: [Log]
    var files: [File]

    /// The form with a time zone.
    static let currentFormat = 3
    /// The form with a measure, in UTC.
    static let formatOfMeasure = 2
    /// The form without either, which older programs can read too.
    static let formatOfAll = 1
    static let name = "manifest.json"
}

/// The proved measures of a number: one, or those that it is computed from.
struct ProvedMeasure {
    let name: String
    private let parts: [String]

    /// Nil for a measure that needs the rows of other measures.
    init?(_ name: String, of dump: String) {
        guard let parts = try? requireReport(dump).provedParts(of: name) else { return nil }
        self.name = name
        self.parts = parts
    }

    /// Whether it includes a measure of the number. Amounts have their currency after their name.
    func includes(_ measure: String) -> Bool {
        parts.contains(measure) || parts.contains(String(measure.prefix { $0 != " " }))
    }
}

/// A raw record with its outcome.
struct EvidenceRecord: Codable {
    struct Header: Codable {
        var name: EvidenceBytes
        var value: EvidenceBytes?
    }

    var stream: String
    var topic: String
    var partition: Int32
    var offset: Int64
    var timestampMs: Int64
    var key: EvidenceBytes?
    var headers: [Header]
    /// Nil for a tombstone.
    var value: EvidenceBytes?
    /// Whether secrets in the value are masked.
    var masked: Bool?
    /// Its outcome, as written in `outcomes`.
    var outcome: String
    /// Why it is not in the number; nil if it is.
    var leftOut: String?

    init(_ explained: ExplainedRecord, maskedValue: [UInt8]?) {
        let record = explained.folded.record
        stream = explained.stream
        topic = explained.topic
        partition = record.partition
        offset = record.offset
        timestampMs = record.timestampMilliseconds
        key = record.key.map { EvidenceBytes($0) }
        headers = []
        value = maskedValue.map { EvidenceBytes($0) } ?? record.value.map { EvidenceBytes($0) }
        masked = maskedValue == nil ? nil : true
        outcome = "\(explained.folded.outcome.name)"
        switch explained.role {
        case .counted: leftOut = nil
        case .leftOut(let reason), .untold(let reason): leftOut = reason
        }
        record.headers.forEach { name, value in
            headers.append(
                Header(name: EvidenceBytes(name), value: value.map { EvidenceBytes($0) }))
            return true
        }
    }

    /// Identifies the record.
    var description: String { "\(topic)/\(partition) offset \(offset)" }

    /// Appends the record to a batch; false if its bytes are not readable.
    func append(to batch: RecordBatch) -> Bool {
        var encoded: [OutgoingRecord.Header] = []
        for header in headers {
            guard let name = header.name.bytes else { return false }
            var value: [UInt8]?
            if let bytes = header.value {
                guard let read = bytes.bytes else { return false }
                value = read
            }
            encoded.append(.init(name: String(decoding: name, as: UTF8.self), value: value))
        }
        guard key == nil || key?.bytes != nil, value == nil || value?.bytes != nil else {
            return false
        }
        let headerBytes = RecordHeaders.encode(encoded)
        (key?.bytes).withBytes { key in
            (value?.bytes).withBytes { value in
                headerBytes.withUnsafeBytes { headers in
                    batch.append(
                        partition: partition, offset: offset, timestampMilliseconds: timestampMs,
                        key: key, headers: headers, value: value)
                }
            }
        }
        return true
    }
}

/// A stored row that counts in the number.
struct EvidenceRow: Codable {
    var stream: String
    var partition: Int32
    var aggregate: String
    var columns: [String: StoredValue]
    var measures: [String: Int64]
    /// The pairs of its measures and the number's measures to which they contribute.
    var gives: [[String]]

    /// Identifies the row.
    var description: String {
        "partition \(partition), "
            + columns.sorted { $0.key < $1.key }.map { "\($0)=\($1.plainText)" }
            .joined(separator: " ")
    }
}

extension StoredValue: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let integer = try? container.decode(Int64.self) {
            self = .integer(integer)
        } else {
            self = .text(try container.decode(String.self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .integer(let integer): try container.encode(integer)
        case .text(let text): try container.encode(text)
        }
    }

    fileprivate var plainText: String {
        switch self {
        case .integer(let integer): "\(integer)"
        case .text(let text): text
        }
    }
}

/// The notes for folding a record again.
struct EvidenceInput: Codable {
    var stream: String
    var partition: Int32
    var offset: Int64
    /// The answers of memory, in base64; nil if nothing was known.
    var answers: String?
    /// Whether it was rejected because a sum would have overflowed.
    var overflow: Bool?
}

/// A configuration that was in force.
struct EvidenceConfiguration: Codable {
    var stream: String
    var topic: String
    var partition: Int32
    var fromOffset: Int64
    var sha256: String
    var dedupeWindowMs: Int64?
    var text: String
}

/// A version of a conversion model that was in force, for people: the configuration has all of it.
struct EvidenceModel: Codable, Hashable, Comparable {
    var configurationSha256: String
    var app: Int64
    var version: String
    var effectiveFrom: String
    var currency: String

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

/// The public keys behind verdicts, besides those in the configurations.
struct EvidenceKeys: Codable {
    /// Apple's keys that are built into Weir, by their names.
    var builtIn: [String: String]
    /// Certificates in PEM, by fingerprint.
    var roots: [String: String]
}

/// Bytes as JSON: a text if they are UTF-8, otherwise base64.
struct EvidenceBytes: Codable, Equatable {
    private var text: String?
    private var base64: String?

    init(_ bytes: UnsafeRawBufferPointer) {
        text = String(validating: bytes, as: UTF8.self)
        if text == nil { base64 = Data(bytes).base64EncodedString() }
    }

    init(_ bytes: [UInt8]) { self = bytes.withUnsafeBytes { EvidenceBytes($0) } }

    /// The bytes; nil if the base64 is invalid.
    var bytes: [UInt8]? {
        if let text { return Array(text.utf8) }
        return base64.flatMap { Data(base64Encoded: $0) }.map { [UInt8]($0) }
    }
}

/// The format of the parts of evidence: JSON with names in snake case, equal for equal parts.
enum EvidenceCoding {
    static func encode(_ part: some Encodable, pretty: Bool = false) throws -> Data {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
        return try encoder.encode(part) + Data("\n".utf8)
    }

    static func decode<Part: Decodable>(_ part: Part.Type, _ bytes: Data) throws -> Part {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(part, from: bytes)
    }

    /// Reads one part per line.
    static func lines<Part: Decodable>(_ part: Part.Type, _ bytes: Data) throws -> [Part] {
        try bytes.split(separator: UInt8(ascii: "\n")).map { try decode(part, Data($0)) }
    }
}
