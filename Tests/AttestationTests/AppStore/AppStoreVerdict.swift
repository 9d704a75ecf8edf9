import AppStoreSigning
import Attestation

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
