import ConfigurationValues
import Crypto
import JSON
import Signatures

/// All inputs of a fold besides the log, from the present configuration or as recorded in a store.
package protocol StreamRules: Sendable {
    /// Increases whenever the same records and the same files give other numbers.
    static var number: Int64 { get }
    /// The rules as recorded in a store: equal rules have equal texts.
    var configuration: FoldConfiguration { get }
    /// The certificates; `configuration` contains only their fingerprints.
    var roots: [AppStoreRoot] { get }

    /// Reads a text recorded in a store.
    init(recorded text: String, from source: RuleSource) throws
    /// Removes the parts that do not affect sums.
    mutating func keepSumsOnly()
    /// The named differences from other rules, in words for an operator.
    func differences(from old: Self) -> [String]
    /// Creates a document for every accepted record, regardless of the configured partners.
    mutating func emitAll()
}

extension StreamRules {
    package var roots: [AppStoreRoot] { [] }
    package mutating func keepSumsOnly() {}
    package func differences(from old: Self) -> [String] { [] }
    package mutating func emitAll() {}

    /// Reads recorded rules, and checks that their meaning is unchanged.
    package init(recorded: FoldConfiguration, from source: RuleSource) throws {
        try self.init(recorded: recorded.text, from: source)
        guard configuration.hash == recorded.hash else {
            throw RecordedConfigurationFault.otherMeaning
        }
    }
}

/// The source of secrets and large data, which recorded rules contain only as digests.
package enum RuleSource: Sendable {
    /// The present configuration.
    case pipelines(PipelineDirectory)
    /// For records with masked secrets. These roots are known in addition to Apple's.
    case masked(roots: [AppStoreRoot])

    /// Replaces a secret in masked records.
    package static let maskedSecret = "***"
}

/// All inputs of a fold besides the log.
package struct FoldConfiguration: Equatable, Sendable {
    /// SHA-256 of the text, in hex.
    package var hash: String
    /// The configuration as JSON; equal configurations have equal texts.
    package var text: String
    /// The time for which an id is remembered, in milliseconds of event time; nil: permanently.
    package var dedupeWindowMilliseconds: Int64?

    package init(text: String, dedupeWindowMilliseconds: Int64?) {
        self.text = text
        self.dedupeWindowMilliseconds = dedupeWindowMilliseconds
        hash = SHA256.hash(data: Array(text.utf8)).hexDigits
    }

    /// The number of the stream's rules; it increases whenever the same records and the same files give other numbers.
    /// 0 for a text without it.
    package var rulesNumber: Int64 {
        guard let parser = JSONParser() else { return 0 }
        return Array(text.utf8).withUnsafeBytes { bytes in
            let rules = (try? parser.parse(bytes))?.member("rules")
            guard case .exact(let number)? = rules?.number?.asInteger else { return 0 }
            return number
        }
    }
}

/// A configuration that was in use from an offset on.
package struct Epoch: Equatable, Sendable {
    /// The first offset folded under it.
    package var fromOffset: Int64
    package var configuration: FoldConfiguration

    package init(fromOffset: Int64, configuration: FoldConfiguration) {
        self.fromOffset = fromOffset
        self.configuration = configuration
    }
}
