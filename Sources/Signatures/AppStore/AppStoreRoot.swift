import Crypto
import Foundation
import JSON
import X509

/// An allowed root certificate for chains of the App Store.
package struct AppStoreRoot: Sendable {
    let der: [UInt8]

    /// Parses the text of a PEM file.
    ///
    /// - Throws: unless the file has exactly one certificate, which may issue others, and nothing else in PEM.
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

    package var pem: String {
        let text = Array(Data(der).base64EncodedString())
        let lines = stride(from: 0, to: text.count, by: 64).map {
            String(text[$0..<min($0 + 64, text.count)])
        }
        return (["-----BEGIN CERTIFICATE-----"] + lines + ["-----END CERTIFICATE-----", ""])
            .joined(separator: "\n")
    }

    /// SHA-256 of the DER, in lower-case hexadecimal digits.
    package var fingerprint: String {
        SHA256.hash(data: der).hexDigits
    }
}

extension AppStoreRoot {
    /// Apple Root CA - G3, valid from 2014-04-30 to 2039-04-30: the root of everything that the App Store signs.
    package static let appleRootCAG3: AppStoreRoot = {
        var der: [UInt8] = []
        _ = Array(appleRootCAG3Base64.utf8).withUnsafeBytes {
            Base64.standard.decode($0, into: &der)
        }
        return AppStoreRoot(der: der)
    }()

    /// DER in base64, from the page of Apple's certificate authority.
    private static let appleRootCAG3Base64 =
        "MIICQzCCAcmgAwIBAgIILcX8iNLFS5UwCgYIKoZIzj0EAwMwZzEbMBkGA1UEAwwSQXBwbGUgUm9vdCBDQSAtIEcz"
        + "MSYwJAYDVQQLDB1BcHBsZSBDZXJ0aWZpY2F0aW9uIEF1dGhvcml0eTETMBEGA1UECgwKQXBwbGUgSW5jLjELMAkG"
        + "A1UEBhMCVVMwHhcNMTQwNDMwMTgxOTA2WhcNMzkwNDMwMTgxOTA2WjBnMRswGQYDVQQDDBJBcHBsZSBSb290IENB"
        + "IC0gRzMxJjAkBgNVBAsMHUFwcGxlIENlcnRpZmljYXRpb24gQXV0aG9yaXR5MRMwEQYDVQQKDApBcHBsZSBJbmMu"
        + "MQswCQYDVQQGEwJVUzB2MBAGByqGSM49AgEGBSuBBAAiA2IABJjpLz1AcqTtkyJygRMc3RCV8cWjTnHcFBbZDuWm"
        + "BSp3ZHtfTjjTuxxEtX/1H7YyYl3J6YRbTzBPEVoA/VhYDKX1DyxNB0cTddqXl5dvMVztK517IDvYuVTZXpmkOlEK"
        + "MaNCMEAwHQYDVR0OBBYEFLuw3qFYM4iapIqZ3r6966/ayySrMA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQD"
        + "AgEGMAoGCCqGSM49BAMDA2gAMGUCMQCD6cHEFl4aXTQY2e3v9GwOAEZLuN+yRhHFD/3meoyhpmvOwgPUnPWTxnS4"
        + "at+qIxUCMG1mihDK1A3UT82NQz60imOlM27jbdoXt2QfyFMm+YhidDkLF1vLUagM6BgD56KyKA=="
}

package enum AppStoreRootFault: Error, Equatable, Sendable {
    /// No certificate in the file.
    case noCertificate
    /// The file has several PEM blocks, and any could be meant.
    case severalBlocks(Int)
    /// The certificate is truncated or not one.
    case malformed
    /// The certificate must not issue an intermediate.
    case noAuthority

    /// The problem and the remedy, without a full stop.
    package var explanation: String {
        switch self {
        case .noCertificate:
            "contains no certificate: give the root certificate as PEM, with its BEGIN and END lines"
        case .severalBlocks(let count):
            "contains \(count) certificates or keys: put each root into a separate file"
        case .malformed: "contains a certificate that cannot be read: copy the whole file again"
        case .noAuthority:
            "contains a certificate that must not issue an intermediate, for example a leaf certificate: give the root certificate"
        }
    }
}

/// A trusted root, ready to verify its certificates.
struct PinnedRoot: Sendable {
    private let certificate: Certificate
    let validity: Validity

    /// Nil if the certificate must not issue intermediates.
    init?(_ certificate: Certificate) {
        guard certificate.hasOnlyKnownCriticalExtensions,
            certificate.mayIssue(intermediatesBelow: 1)
        else { return nil }
        self.certificate = certificate
        validity = Validity(certificate)
    }

    func issued(_ intermediate: Certificate) -> Bool { intermediate.isIssued(by: certificate) }

    var description: AppStoreCertificate { AppStoreCertificate(certificate) }
}
