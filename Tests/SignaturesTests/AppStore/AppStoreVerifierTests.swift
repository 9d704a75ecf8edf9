import Foundation
import Synchronization
import TestKit
import Testing
import X509

@testable import Signatures

@Suite("Chains of the App Store")
struct AppStoreVerifierTests {
    private static let payload = Array(#"{"signedDate":1800000000000}"#.utf8)

    private func fault(
        _ at: Int64 = .signing, _ change: (inout AppStoreChainPlan) -> Void
    ) throws -> AppStoreFault? {
        let chain = try AppStoreChain(AppStoreChainPlan(change))
        return try AppStoreVerifier(chain).fault(chain.sign(Self.payload), at: at)
    }

    /// What a verifier of `chain` says of a header that lists these certificates.
    private func fault(_ chain: AppStoreChain, x5c: [String]) throws -> AppStoreFault? {
        let list = x5c.map { "\"\($0)\"" }.joined(separator: ",")
        let header = "{\"alg\":\"ES256\",\"x5c\":[\(list)]}"
        return try AppStoreVerifier(chain).fault(chain.sign(Self.payload, header: header))
    }

    @Test("Apple's root is built in, byte for byte, and is a root")
    func appleRoot() throws {
        let root = AppStoreRoot.appleRootCAG3
        #expect(
            root.fingerprint == "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179")
        let chain = try AppStoreChain()
        let text = try chain.sign(Self.payload)
        #expect(AppStoreVerifier(roots: [root]).fault(text) == .untrustedRoot)
        let both = AppStoreVerifier(roots: [root, try AppStoreRoot(pem: chain.rootPEM)])
        #expect(both.fault(text) == nil)
        #expect(AppStoreVerifier(roots: []).fault(text) == .untrustedRoot)
    }

    @Test("a chain like Apple's verifies, and the payload is what was signed")
    func verifies() throws {
        let chain = try AppStoreChain()
        for payload in [Self.payload, [0], Array(repeating: 0xFF, count: 100_000)] {
            let text = try chain.sign(payload)
            #expect(try AppStoreVerifier(chain).fault(text) == nil)
            let jws = try Array(text.utf8).withUnsafeBytes { try AppStoreJWS($0) }
            #expect(jws.payload == payload)
        }
    }

    @Test("the leaf and the intermediate need their marks")
    func marks() throws {
        #expect(try fault { $0.leafMark = nil } == .missingLeafOID)
        #expect(try fault { $0.leafMark = $0.intermediateMark } == .missingLeafOID)
        #expect(try fault { $0.intermediateMark = nil } == .missingIntermediateOID)
        #expect(
            try fault { $0.intermediateMark = AppStoreChainPlan.leafMark }
                == .missingIntermediateOID)
        #expect(try fault { $0.leafMark?.append(1) } == .missingLeafOID)
    }

    @Test("exactly three certificates make a chain, in their order")
    func length() throws {
        let chain = try AppStoreChain()
        let x5c = chain.x5c
        #expect(try fault(chain, x5c: x5c) == nil)
        #expect(try fault(chain, x5c: []) == .noCertificateChain)
        #expect(try fault(chain, x5c: Array(x5c.dropLast())) == .wrongChainLength)
        #expect(try fault(chain, x5c: x5c + [x5c[2]]) == .wrongChainLength)
        #expect(try fault(chain, x5c: x5c.reversed()) == .notECLeaf)
        #expect(try fault(chain, x5c: [x5c[0], x5c[2], x5c[1]]) == .missingIntermediateOID)
        #expect(try fault(chain, x5c: [x5c[0], x5c[0], x5c[2]]) == .missingIntermediateOID)
    }

    @Test("the root in the header is not looked at: the anchor is ours")
    func sentRoot() throws {
        let chain = try AppStoreChain()
        let foreign = try AppStoreChain(AppStoreChainPlan { $0.name = "B" })
        #expect(try fault(chain, x5c: Array(chain.x5c[..<2]) + [foreign.x5c[2]]) == nil)
        #expect(try fault(chain, x5c: Array(chain.x5c[..<2]) + ["no certificate"]) == nil)
        #expect(try fault(chain, x5c: Array(foreign.x5c[..<2]) + [chain.x5c[2]]) == .untrustedRoot)
    }

    @Test("a root of the same name and another key is foreign")
    func foreignRoot() throws {
        let chain = try AppStoreChain()
        let namesake = try AppStoreChain()
        let text = try chain.sign(Self.payload)
        #expect(try AppStoreVerifier(namesake).fault(text) == .untrustedRoot)
        #expect(
            try fault(chain, x5c: [namesake.x5c[0], chain.x5c[1], chain.x5c[2]]) == .brokenChain)
    }

    @Test("each of the three certificates has to be valid at the signing instant, ends included")
    func validity() throws {
        let plan = AppStoreChainPlan()
        let shorter = AppStoreChainPlan.Validity(1_799_999_999, 1_800_000_001)
        let changes: [(inout AppStoreChainPlan) -> Void] = [
            { $0.leafValidity = shorter }, { $0.intermediateValidity = shorter },
            { $0.rootValidity = shorter },
        ]
        for change in changes {
            let chain = try AppStoreChain(AppStoreChainPlan(change))
            let verifier = try AppStoreVerifier(chain)
            let text = try chain.sign(Self.payload)
            for (instant, expected) in [
                (1_799_999_998_999, .notYetValidAtSigning), (1_799_999_999_000, nil),
                (1_800_000_001_999, nil), (1_800_000_002_000, .expiredAtSigning),
                (.min, .notYetValidAtSigning), (-1, .notYetValidAtSigning),
                (.max, .expiredAtSigning),
            ] as [(Int64, AppStoreFault?)] {
                #expect(verifier.fault(text, at: instant) == expected)
            }
        }
        let end = plan.leafValidity.notAfterSeconds * 1000
        #expect(try fault(end) { _ in } == nil)
        #expect(try fault(end + 1000) { _ in } == .expiredAtSigning)
        #expect(
            try fault { $0.leafValidity = .init(1_900_000_000, 1_700_000_000) }
                == .notYetValidAtSigning)
    }

    @Test("a leaf with another kind of key is refused")
    func leafKeys() throws {
        #expect(try fault { $0.leafKey = .rsa } == .notECLeaf)
        #expect(try fault { $0.leafKey = .p384 } == .notECLeaf)
    }

    @Test(
        "an intermediate that is no authority issues nothing, and a leaf may be forbidden to sign")
    func authorities() throws {
        #expect(try fault { $0.intermediateIsAuthority = false } == .wrongUse)
        #expect(try fault { $0.intermediateIsAuthority = nil } == .wrongUse)
        #expect(try fault { $0.intermediateMayIssue = false } == .wrongUse)
        #expect(try fault { $0.leafMaySign = false } == .wrongUse)
        #expect(try fault { $0.leafNamesItsIssuer = false } == .brokenChain)
        #expect(try fault { $0.leafInsistsOn = [1, 2, 3] } == .badCertificate)
    }

    @Test("what is no root cannot be pinned")
    func badRoots() throws {
        let chain = try AppStoreChain()
        let noAuthority = try AppStoreChain(AppStoreChainPlan { $0.rootIsAuthority = false })
        let bare = try AppStoreChain(AppStoreChainPlan { $0.rootIsAuthority = nil })
        let key = chain.rootPEM.replacingOccurrences(of: "CERTIFICATE", with: "PUBLIC KEY")
        let faults: [(String, AppStoreRootFault)] = [
            ("", .noCertificate), ("text", .noCertificate), (key, .noCertificate),
            (noAuthority.rootPEM, .noAuthority), (bare.rootPEM, .noAuthority),
            (chain.rootPEM + "\n" + chain.rootPEM, .severalBlocks(2)),
            (chain.rootPEM + "\n" + key, .severalBlocks(2)),
            (String(chain.rootPEM.dropLast(5)), .malformed),
        ]
        for (pem, fault) in faults {
            #expect(throws: fault) { try AppStoreRoot(pem: pem) }
        }
        let commented = try AppStoreRoot(pem: "# a root\n" + chain.rootPEM + "\n")
        #expect(try commented.fingerprint == AppStoreRoot(pem: chain.rootPEM).fingerprint)
    }

    @Test("people are told subjects and validities, with the root that was pinned")
    func certificates() throws {
        let chain = try AppStoreChain()
        let jws = try Array(chain.sign(Self.payload).utf8).withUnsafeBytes { try AppStoreJWS($0) }
        let certificates = try AppStoreVerifier(chain).certificates(of: jws)
        #expect(
            certificates.map(\.subject) == [
                "CN=Test Leaf A", "CN=Test Intermediate A", "CN=Test Root A",
            ])
        #expect(
            certificates.map(\.notBeforeSeconds) == [1_700_000_000, 1_577_836_800, 1_420_070_400])
        #expect(AppStoreVerifier(roots: []).certificates(of: jws).count == 2)
    }

    @Test("every reason has words of its own")
    func words() { #expect(Set(AppStoreFault.allCases.map(\.explanation.description)).count == 16) }

    @Test("the verdict is the same whatever was verified before, and from any thread")
    func coldAndWarm() throws {
        let plans: [AppStoreChainPlan] = (0..<70).map { index in
            AppStoreChainPlan {
                $0.name = "\(index / 2)"
                if index % 4 == 1 { $0.leafMark = nil }
                if index % 4 == 2 { $0.leafValidity = .init(0, 1_000_000_000) }
            }
        }
        let chains = try plans.map { try AppStoreChain($0) }
        let roots = try chains.enumerated().filter { $0.offset % 5 != 4 }
            .map { try AppStoreRoot(pem: $0.element.rootPEM) }
        let texts = try chains.map { try $0.sign(Self.payload) }
        let instants: [Int64] = [500_000_000_000, .signing, 2_100_000_000_000]
        let cold = texts.map { text in
            instants.map { AppStoreVerifier(roots: roots).fault(text, at: $0) }
        }
        #expect(cold[3][1] == nil && cold[1][1] == .missingLeafOID && cold[4][1] == .untrustedRoot)
        let verifier = AppStoreVerifier(roots: roots)
        let wrong = Mutex(0)
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for round in 0..<140 {
                let index = (round * 17 + thread * 13) % texts.count
                let found = instants.map { verifier.fault(texts[index], at: $0) }
                if found != cold[index] { wrong.withLock { $0 += 1 } }
            }
        }
        #expect(wrong.withLock { $0 } == 0)
    }
}

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

extension AppStoreVerifier {
    /// Trusts the root of a test's chain.
    convenience init(_ chain: AppStoreChain) throws {
        self.init(roots: [try AppStoreRoot(pem: chain.rootPEM)])
    }

    /// Why a text is not verified; nil when it is.
    func fault(_ text: String, at signedAtMilliseconds: Int64 = .signing) -> AppStoreFault? {
        fault(Array(text.utf8), at: signedAtMilliseconds)
    }

    func fault(_ text: [UInt8], at signedAtMilliseconds: Int64 = .signing) -> AppStoreFault? {
        do throws(AppStoreFault) {
            let jws = try text.withUnsafeBytes { bytes in
                Result { () throws(AppStoreFault) in try AppStoreJWS(bytes) }
            }.get()
            try verify(jws, signedAtMilliseconds: signedAtMilliseconds)
            return nil
        } catch {
            return error
        }
    }
}

extension Int64 {
    /// An instant at which the chains of tests hold, in milliseconds since 1970.
    static let signing: Int64 = 1_800_000_000_000
}
