import Crypto
import JSON

/// A compact JWS with an `x5c` header, parsed but not verified.
///
/// Of the header, only `alg`, `crit` and `x5c` are read: its other statements about keys are claims of the sender.
package struct AppStoreJWS: Sendable {
    /// Leaf, intermediate and root.
    private static let chainLength = 3

    /// Decoded, as received.
    package let payload: [UInt8]
    /// The leaf and the intermediate in DER, not parsed. The root in the header is ignored.
    let path: AppStorePath
    /// SHA-256 of the first two parts as received, with the dot between them.
    let digest: SHA256Digest
    let signature: [UInt8]

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

    /// The payload of a JWS, without any verification.
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

/// The two relevant certificates of a JWS, in DER.
struct AppStorePath: Hashable, Sendable {
    /// Its key signed the JWS.
    let leaf: [UInt8]
    /// It issued the leaf.
    let intermediate: [UInt8]

    /// The leaf identifies a path. Its bytes are hashed at once, because an array would hash them one by one.
    func hash(into hasher: inout Hasher) {
        leaf.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}
