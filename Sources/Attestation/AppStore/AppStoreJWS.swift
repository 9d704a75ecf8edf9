import Crypto
import JSONReader

/// A compact JWS with an `x5c` header, read but not verified.
///
/// Of the header only `alg`, `crit` and `x5c` are looked at: whatever else it says about keys is the
/// sender's word.
package struct AppStoreJWS: Sendable {
    /// How many certificates the App Store sends: leaf, intermediate, root.
    private static let chainLength = 3

    /// The decoded payload, as received.
    package let payload: [UInt8]
    /// The leaf and the intermediate in DER, undecoded. The root in the header is not looked at.
    let path: AppStorePath
    /// Of the first two parts as received, with the dot between them.
    let digest: SHA256Digest
    let signature: [UInt8]

    /// Takes a JWS apart.
    ///
    /// - Parameter text: three parts of base64url without padding.
    /// - Throws: `notAJWS`, `malformedHeader`, `criticalHeader`, `notES256`, `noCertificateChain`,
    ///   `wrongChainLength` or `badCertificate`.
    package init(_ text: UnsafeRawBufferPointer) throws(AppStoreFault) {
        var arena: [UInt8] = []
        arena.reserveCapacity(2 * text.count)
        guard let jws = CompactJWS(text, arena: &arena) else { throw .notAJWS }
        path = try arena.withUnsafeBytes { bytes in
            Result { () throws(AppStoreFault) in
                try Self.path(header: UnsafeRawBufferPointer(rebasing: bytes[jws.header]))
            }
        }.get()
        digest = arena.withUnsafeBytes { bytes in
            SHA256.hash(data: UnsafeRawBufferPointer(rebasing: bytes[jws.signingInput]))
        }
        payload = Array(arena[jws.payload])
        signature = Array(arena[jws.signature])
    }

    /// The payload of a JWS that nobody vouches for: nothing of it is verified.
    ///
    /// - Parameter text: three parts of base64url without padding.
    /// - Returns: the decoded payload; nil unless there are three parts, the first a JSON object.
    package static func unverifiedPayload(of text: UnsafeRawBufferPointer) -> [UInt8]? {
        var arena: [UInt8] = []
        guard let jws = CompactJWS(text, arena: &arena), let parser = JSONParser() else {
            return nil
        }
        let header = arena[jws.header].withUnsafeBytes { try? parser.parse($0) }
        return header?.isObject == true ? Array(arena[jws.payload]) : nil
    }

    private static func path(header: UnsafeRawBufferPointer) throws(AppStoreFault) -> AppStorePath {
        guard let parser = JSONParser(), let header = try? parser.parse(header), header.isObject
        else { throw .malformedHeader }
        guard header.firstMember("crit") == nil else { throw .criticalHeader }
        guard let algorithm = header.member("alg")?.string, algorithm.elementsEqual("ES256".utf8)
        else { throw .notES256 }
        guard let chain = header.member("x5c"), chain.isArray, !chain.elements.isEmpty else {
            throw .noCertificateChain
        }
        let certificates = Array(chain.elements)
        guard certificates.count == chainLength else { throw .wrongChainLength }
        return AppStorePath(
            leaf: try der(certificates[0]), intermediate: try der(certificates[1]))
    }

    private static func der(_ certificate: JSONValue) throws(AppStoreFault) -> [UInt8] {
        var der: [UInt8] = []
        guard let text = certificate.string, Base64.standard.decode(text, into: &der) != nil else {
            throw .badCertificate
        }
        return der
    }
}
