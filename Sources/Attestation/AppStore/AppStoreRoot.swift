import Crypto
import X509

/// A root certificate that chains of the App Store may end at.
public struct AppStoreRoot: Sendable {
    /// The certificate in DER.
    let der: [UInt8]

    /// The root in `pem`, the text of a PEM file.
    ///
    /// - Throws: `badCertificate` unless it holds one certificate, and nothing else in PEM, that
    ///   may issue others.
    public init(pem: String) throws(AppStoreFault) {
        guard let certificate = try? Certificate(pemEncoded: pem),
            PinnedRoot(certificate) != nil,
            let der = try? certificate.serializeAsPEM().derBytes
        else { throw .badCertificate }
        self.der = der
    }

    init(der: [UInt8]) {
        self.der = der
    }

    /// SHA-256 of the certificate in DER, in lower-case hexadecimal digits.
    public var fingerprint: String {
        let digits = Array("0123456789abcdef")
        return SHA256.hash(data: der).reduce(into: "") { text, byte in
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 0xF)])
        }
    }
}
