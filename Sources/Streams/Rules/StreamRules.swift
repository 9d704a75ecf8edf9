import ConfigurationValues
import Crypto
import JSON
import Signatures

/// All that a fold depends on besides the log: as the configuration says it now, or as a store has recorded
/// it.
package protocol StreamRules: Sendable {
    /// Rises when the same records and the same files give other numbers.
    static var number: Int64 { get }
    /// The rules as a store records them: the same text for the same rules.
    var configuration: FoldConfiguration { get }
    /// Certificates that `configuration` has the fingerprints of only.
    var roots: [AppStoreRoot] { get }

    /// Reads the text that a store has recorded.
    init(recorded text: String, from source: RuleSource) throws
    /// Leaves out what no sum depends on.
    mutating func keepSumsOnly()
    /// What differs from other rules, in words for an operator, as far as it has names.
    func differences(from old: Self) -> [String]
    /// Has a document for partners made of every accepted record, whichever partners there are.
    mutating func emitAll()
}

extension StreamRules {
    package var roots: [AppStoreRoot] { [] }
    package mutating func keepSumsOnly() {}
    package func differences(from old: Self) -> [String] { [] }
    package mutating func emitAll() {}

    /// Reads the rules that a store has recorded, and makes sure that they mean the same now.
    package init(recorded: FoldConfiguration, from source: RuleSource) throws {
        try self.init(recorded: recorded.text, from: source)
        guard configuration.hash == recorded.hash else {
            throw RecordedConfigurationFault.otherMeaning
        }
    }
}

/// Where to find what is secret, or too large to be recorded: recorded rules have its digest.
package enum RuleSource: Sendable {
    /// The configuration as it is now.
    case pipelines(PipelineDirectory)
    /// For records whose secrets are masked. Besides Apple's root these are known.
    case masked(roots: [AppStoreRoot])

    /// What stands for a secret in masked records.
    package static let maskedSecret = "***"
}

/// All that a fold depends on, besides the log.
package struct FoldConfiguration: Equatable, Sendable {
    /// SHA-256 of the text, in hex.
    package var hash: String
    /// The configuration as JSON, the same for the same configuration.
    package var text: String
    /// How long an id is remembered, in milliseconds of event time; nil for ever.
    package var dedupeWindowMilliseconds: Int64?

    package init(text: String, dedupeWindowMilliseconds: Int64?) {
        self.text = text
        self.dedupeWindowMilliseconds = dedupeWindowMilliseconds
        hash = SHA256.hash(data: Array(text.utf8)).hexDigits
    }

    /// The number of the stream's rules, which rises when the same records and the same files give other
    /// numbers; 0 for a text without one.
    package var rulesNumber: Int64 {
        guard let parser = JSONParser() else { return 0 }
        return Array(text.utf8).withUnsafeBytes { bytes in
            let rules = (try? parser.parse(bytes))?.member("rules")
            guard case .exact(let number)? = rules?.number?.asInteger else { return 0 }
            return number
        }
    }
}

/// A configuration that was in force from an offset on.
package struct Epoch: Equatable, Sendable {
    /// The first offset that was folded under it.
    package var fromOffset: Int64
    package var configuration: FoldConfiguration

    package init(fromOffset: Int64, configuration: FoldConfiguration) {
        self.fromOffset = fromOffset
        self.configuration = configuration
    }
}
