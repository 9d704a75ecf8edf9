import X509

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Instants at which a certificate or a path holds, both ends included; in seconds since 1970, as
/// certificates know no fractions.
struct Validity: Equatable, Sendable {
    private(set) var notBeforeSeconds: Int64
    private(set) var notAfterSeconds: Int64

    /// A certificate's own.
    init(_ certificate: Certificate) {
        notBeforeSeconds = Self.seconds(certificate.notValidBefore)
        notAfterSeconds = Self.seconds(certificate.notValidAfter)
    }

    /// The instants at which both hold; there may be none.
    func intersection(_ other: Validity) -> Validity {
        var common = self
        common.notBeforeSeconds = max(notBeforeSeconds, other.notBeforeSeconds)
        common.notAfterSeconds = min(notAfterSeconds, other.notAfterSeconds)
        return common
    }

    /// What is wrong at an instant, in milliseconds since 1970; nil when nothing is.
    func fault(atMilliseconds instant: Int64) -> AppStoreFault? {
        let isBeforeItsSecond = instant % 1000 < 0
        let seconds = instant / 1000 - (isBeforeItsSecond ? 1 : 0)
        if seconds < notBeforeSeconds { return .notYetValidAtSigning }
        return seconds > notAfterSeconds ? .expiredAtSigning : nil
    }

    /// Certificates say years of four digits, which is far from where doubles are no longer exact.
    private static func seconds(_ date: Date) -> Int64 {
        Int64(exactly: date.timeIntervalSince1970.rounded(.down)) ?? 0
    }
}
