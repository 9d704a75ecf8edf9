import AppStoreSigning
import Testing
import X509

@testable import Attestation

@Suite("Validated paths")
struct ValidatedPathsTests {
    @Test("the newest are remembered, so many and no more, and none twice")
    func bounded() throws {
        let chain = try AppStoreChain()
        let root = try AppStoreRoot(pem: chain.rootPEM)
        let pinned = try #require(PinnedRoot(Certificate(derEncoded: root.der)))
        let validated = try ValidatedPath(
            AppStorePath(leaf: chain.certificates[0], intermediate: chain.certificates[1]),
            roots: [pinned])
        let keys = (0..<8).map { AppStorePath(leaf: [$0], intermediate: []) }
        var paths = ValidatedPaths(capacity: 3)
        for key in [0, 1, 2, 0, 2, 3, 4, 5, 6, 5, 7] { paths.remember(validated, for: keys[key]) }
        #expect(
            keys.map { paths[$0] != nil } == [false, false, false, false, false, true, true, true])
    }
}
