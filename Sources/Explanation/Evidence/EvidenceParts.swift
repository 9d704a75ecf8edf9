import AggregateStore
import Foundation
import Streams

/// A stored row that counts in the number.
struct EvidenceRow: Codable {
    var stream: String
    var partition: Int32
    var aggregate: String
    var columns: [String: EvidenceValue]
    var measures: [String: Int64]
    /// Which of its measures give to which of the number's.
    var gives: [[String]]
}

/// A value of a column.
enum EvidenceValue: Codable, Equatable {
    case integer(Int64)
    case text(String)

    init(_ value: StoredValue) {
        switch value {
        case .integer(let integer): self = .integer(integer)
        case .text(let text): self = .text(text)
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let integer = try? container.decode(Int64.self) {
            self = .integer(integer)
        } else {
            self = .text(try container.decode(String.self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .integer(let integer): try container.encode(integer)
        case .text(let text): try container.encode(text)
        }
    }

    var stored: StoredValue {
        switch self {
        case .integer(let integer): .integer(integer)
        case .text(let text): .text(text)
        }
    }
}

/// What a record is folded again with.
struct EvidenceNote: Codable {
    var stream: String
    var partition: Int32
    var offset: Int64
    /// What memory answered, in base64; nil when nothing was known.
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
struct EvidenceModel: Codable, Hashable {
    var configurationSha256: String
    var app: Int64
    var version: String
    var effectiveFrom: String
    var currency: String
}

/// The public keys that verdicts rest on, beside those in the configurations.
struct EvidenceKeys: Codable {
    /// Those of Apple's that are built into Weir, by their names.
    var builtIn: [String: String]
    /// Certificates in PEM, by fingerprint.
    var roots: [String: String]
}

/// What the other files are.
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

    /// One more for every change that older programs cannot read.
    var format: Int
    /// Version of Weir that wrote it.
    var weir: String
    var dump: String
    var `where`: [String]
    var sinceMs: Int64?
    var untilMs: Int64?
    /// The number by measure, in digits.
    var number: [String: String]
    var counted: Int64
    var leftOut: Int64
    /// Records of the same hours that do not say what they are about.
    var untold: Int64
    /// Records whose secrets are masked.
    var masked: Int64
    /// Whether the records added up to the number when this was written.
    var addsUp: Bool
    var logs: [Log]
    var files: [File]

    static let currentFormat = 1
    static let name = "manifest.json"
}

/// Names of the files.
enum EvidenceFile: String, CaseIterable {
    case rows = "aggregate.ndjson"
    case records = "records.ndjson"
    case notes = "memory.ndjson"
    case configurations = "configurations.ndjson"
    case models = "models.ndjson"
    case keys = "keys.json"
}
