import X509

/// What people are told of a certificate.
package struct AppStoreCertificate: Sendable, Equatable {
    /// The distinguished name of its holder.
    package let subject: String
    /// When its validity begins, in seconds since 1970.
    package let notBeforeSeconds: Int64
    /// When its validity ends, in seconds since 1970; that second is included.
    package let notAfterSeconds: Int64

    init(_ certificate: Certificate) {
        let validity = Validity(certificate)
        subject = certificate.subject.description
        notBeforeSeconds = validity.notBeforeSeconds
        notAfterSeconds = validity.notAfterSeconds
    }
}
