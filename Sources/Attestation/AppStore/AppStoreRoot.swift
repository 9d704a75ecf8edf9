import Crypto
import Foundation
import X509

/// A root certificate that chains of the App Store may end at.
package struct AppStoreRoot: Sendable {
    /// The certificate in DER.
    let der: [UInt8]

    /// The root in `pem`, the text of a PEM file.
    ///
    /// - Throws: what is wrong unless it holds one certificate, and nothing else in PEM, that may
    ///   issue others.
    package init(pem: String) throws(AppStoreRootFault) {
        let blocks = pem.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("-----BEGIN ") }
        guard blocks.contains(where: { $0.contains(" CERTIFICATE-----") }) else {
            throw .noCertificate
        }
        guard blocks.count == 1 else { throw .severalBlocks(blocks.count) }
        guard let certificate = try? Certificate(pemEncoded: pem),
            let der = try? certificate.serializeAsPEM().derBytes
        else { throw .malformed }
        guard PinnedRoot(certificate) != nil else { throw .noAuthority }
        self.der = der
    }

    init(der: [UInt8]) {
        self.der = der
    }

    /// The certificate in PEM.
    package var pem: String {
        let text = Array(Data(der).base64EncodedString())
        let lines = stride(from: 0, to: text.count, by: 64).map {
            String(text[$0..<min($0 + 64, text.count)])
        }
        return (["-----BEGIN CERTIFICATE-----"] + lines + ["-----END CERTIFICATE-----", ""])
            .joined(separator: "\n")
    }

    /// SHA-256 of the certificate in DER, in lower-case hexadecimal digits.
    package var fingerprint: String {
        let digits = Array("0123456789abcdef")
        return SHA256.hash(data: der).reduce(into: "") { text, byte in
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 0xF)])
        }
    }
}
