import X509

/// A root that is trusted, ready to verify what it issued.
struct PinnedRoot: Sendable {
    private let certificate: Certificate
    /// The instants of its validity.
    let validity: Validity

    /// Reads a root; nil when it may not issue intermediates.
    init?(_ certificate: Certificate) {
        guard certificate.hasOnlyKnownCriticalExtensions,
            certificate.mayIssue(intermediatesBelow: 1)
        else { return nil }
        self.certificate = certificate
        validity = Validity(certificate)
    }

    /// Whether this root issued `intermediate`.
    func issued(_ intermediate: Certificate) -> Bool { intermediate.isIssued(by: certificate) }

    /// What people are told of it.
    var description: AppStoreCertificate { AppStoreCertificate(certificate) }
}
