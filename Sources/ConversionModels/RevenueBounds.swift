/// Bounds of the revenue of a postback, in micros of one currency.
package struct RevenueBounds: Equatable, Sendable {
    package private(set) var minMicros: Int128
    /// At least `minMicros`.
    package private(set) var maxMicros: Int128

    package init(minMicros: Int128, maxMicros: Int128) {
        self.minMicros = minMicros
        self.maxMicros = maxMicros
    }

    init(_ events: [DecodedEvent]) {
        minMicros = events.reduce(0) { $0 + Int128($1.revenueMinMicros) }
        maxMicros = events.reduce(0) { $0 + Int128($1.revenueMaxMicros) }
    }

    /// Widens the bounds to include others.
    mutating func cover(_ other: RevenueBounds) {
        minMicros = min(minMicros, other.minMicros)
        maxMicros = max(maxMicros, other.maxMicros)
    }

    static let zero = RevenueBounds(minMicros: 0, maxMicros: 0)
}

extension ConversionModelVersion {
    /// Bounds of the revenue, including for a value that leaves it open.
    ///
    /// A value that the version decodes has the bounds of its events. A missing value, or a coarse one in a window
    /// without coarse values, may hide anything: from 0 to the largest revenue of the version for the window.
    package func revenueBounds(
        timing: PostbackTiming, fine: Int?, coarse: CoarseValue?, sequenceIndex: Int
    ) -> RevenueBounds {
        if let fine { return RevenueBounds(decode(fine: fine)) }
        if let coarse, hasCoarseValues(sequenceIndex: sequenceIndex) {
            return RevenueBounds(decode(coarse: coarse, sequenceIndex: sequenceIndex))
        }
        return RevenueBounds(
            minMicros: 0,
            maxMicros: largestRevenueMicros(timing: timing, sequenceIndex: sequenceIndex))
    }

    /// Whether a value decodes: any fine one, and a coarse one if the version lists any.
    package func speaks(fine: Int?, coarse: CoarseValue?, sequenceIndex: Int) -> Bool {
        fine != nil || (coarse != nil && hasCoarseValues(sequenceIndex: sequenceIndex))
    }

    private func hasCoarseValues(sequenceIndex: Int) -> Bool {
        CoarseValue.allCases.contains {
            !decode(coarse: $0, sequenceIndex: sequenceIndex).isEmpty
        }
    }

    /// Only the first window has fine values, and versions up to 3.0 have no coarse ones.
    private func largestRevenueMicros(timing: PostbackTiming, sequenceIndex: Int) -> Int128 {
        let fine =
            timing == .upTo3 || timing == .window0
            ? (0...63).map { RevenueBounds(decode(fine: $0)).maxMicros } : []
        let coarse =
            timing == .upTo3
            ? []
            : CoarseValue.allCases.map {
                RevenueBounds(decode(coarse: $0, sequenceIndex: sequenceIndex)).maxMicros
            }
        return (fine + coarse).max() ?? 0
    }
}

extension ConversionModel {
    /// Bounds of the revenue of a postback by currency, including for missing and coarse values, and for uncertainty
    /// about the version in effect.
    ///
    /// Includes every version in effect at some moment at which the app can have set the value. With several
    /// currencies the revenue may be in any one of them, so each lower bound is 0.
    ///
    /// - Returns: nil if no version was in effect, so that nothing bounds the revenue.
    package func revenueBounds(
        received: Int64, timing: PostbackTiming, fine: Int?, coarse: CoarseValue?,
        sequenceIndex: Int
    ) -> [String: RevenueBounds]? {
        guard let candidates = versions(received: received, timing: timing) else { return nil }
        var bounds: [String: RevenueBounds] = [:]
        for version in versions[candidates] {
            let own = version.revenueBounds(
                timing: timing, fine: fine, coarse: coarse, sequenceIndex: sequenceIndex)
            bounds[version.currency, default: own].cover(own)
        }
        if bounds.count > 1 {
            for currency in bounds.keys { bounds[currency]?.cover(.zero) }
        }
        return bounds
    }

    /// The indices of the versions in effect at some moment at which the app can have set the value of a postback; nil
    /// without one.
    package func versions(received: Int64, timing: PostbackTiming) -> ClosedRange<Int>? {
        let setting = timing.settingInterval(received: received)
        guard let latest = versionIndex(inEffectAtMilliseconds: setting.latest) else { return nil }
        return (versionIndex(inEffectAtMilliseconds: setting.earliest) ?? 0)...latest
    }
}
