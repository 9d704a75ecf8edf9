/// What the certificates of a chain are to say; as it is made, a plan is in order.
package struct AppStoreChainPlan: Sendable {
    /// The mark that Apple's leaves carry.
    package static let leafMark: [UInt] = [1, 2, 840, 113_635, 100, 6, 11, 1]
    /// The mark that Apple's intermediates carry.
    package static let intermediateMark: [UInt] = [1, 2, 840, 113_635, 100, 6, 2, 1]

    /// The kinds of keys of a leaf. Whatever is certified, a key on P-256 signs.
    package enum LeafKey: Sendable {
        case p256, p384, rsa
    }

    /// From when to when, in seconds since 1970, both included.
    package struct Validity: Sendable {
        /// The first second.
        package var notBeforeSeconds: Int64
        /// The last second.
        package var notAfterSeconds: Int64

        /// The first and the last second.
        package init(_ notBeforeSeconds: Int64, _ notAfterSeconds: Int64) {
            self.notBeforeSeconds = notBeforeSeconds
            self.notAfterSeconds = notAfterSeconds
        }
    }

    /// Part of the names of all three.
    package var name = "A"
    /// 2015-01-01 to 2040-01-01.
    package var rootValidity = Validity(1_420_070_400, 2_208_988_800)
    /// 2020-01-01 to 2035-01-01.
    package var intermediateValidity = Validity(1_577_836_800, 2_051_222_400)
    /// 2023-11-14T22:13:20Z to 2033-05-18T03:33:20Z.
    package var leafValidity = Validity(1_700_000_000, 2_000_000_000)
    /// Whether basicConstraints say so; nil leaves them out.
    package var rootIsAuthority: Bool? = true
    /// Whether basicConstraints say so; nil leaves them out.
    package var intermediateIsAuthority: Bool? = true
    /// keyCertSign of the intermediate.
    package var intermediateMayIssue = true
    /// digitalSignature of the leaf.
    package var leafMaySign = true
    /// Whether the leaf's issuer is the intermediate's name.
    package var leafNamesItsIssuer = true
    /// What is certified.
    package var leafKey = LeafKey.p256
    /// The leaf's extension by which Apple marks it; nil leaves it out.
    package var leafMark: [UInt]? = Self.leafMark
    /// The intermediate's extension by which Apple marks it; nil leaves it out.
    package var intermediateMark: [UInt]? = Self.intermediateMark
    /// A critical extension of the leaf.
    package var leafInsistsOn: [UInt]?

    /// A plan in order, with changes.
    package init(_ change: (inout AppStoreChainPlan) -> Void = { _ in }) {
        change(&self)
    }
}
