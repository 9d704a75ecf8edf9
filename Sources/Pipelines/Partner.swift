/// Somebody who is sent decoded postbacks: `partners/<name>.yaml`.
package struct Partner: Equatable, Sendable {
    /// A word that `trust` may list; the raw value is the verdict's.
    package enum Verdict: String, CaseIterable, Sendable {
        /// Signed with a production key.
        case valid
        /// Signed with a development key.
        case development
        /// No key fits.
        case invalid
        /// The version or key id is unknown.
        case unverifiable
    }

    /// Which postbacks a partner is sent.
    package struct Filter: Equatable, Sendable {
        /// Ids of ad networks, lower case; nil: all.
        package let networks: Set<String>?
        /// App Store ids of advertised apps; nil: all.
        package let apps: Set<Int64>?
        /// Conversion windows by the postback's sequence index, 0...2; nil: all.
        package let windows: Set<Int>?

        /// Whether a postback of this network (in any case), advertised app and window passes.
        package func admits(network: String, app: Int64, window: Int) -> Bool {
            (networks?.contains(network.asciiLowercased) ?? true) && (apps?.contains(app) ?? true)
                && (windows?.contains(window) ?? true)
        }
    }

    /// Name of the partner, which is the file's: lower-case letters, digits and dashes.
    package let name: String
    /// Verdicts whose postbacks the partner is sent; at least one.
    package let trust: Set<Verdict>
    /// Which of those it is sent.
    package let filter: Filter
    /// Where they go.
    package let delivery: Delivery
}
