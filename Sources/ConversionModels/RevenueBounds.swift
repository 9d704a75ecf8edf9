/// Between which amounts the revenue lies that a postback stands for, in micros of one currency.
package struct RevenueBounds: Equatable, Sendable {
    /// The least.
    package private(set) var minMicros: Int128
    /// The most, at least `minMicros`.
    package private(set) var maxMicros: Int128

    /// States the bounds.
    package init(minMicros: Int128, maxMicros: Int128) {
        self.minMicros = minMicros
        self.maxMicros = maxMicros
    }

    init(_ events: [DecodedEvent]) {
        minMicros = events.reduce(0) { $0 + Int128($1.revenueMinMicros) }
        maxMicros = events.reduce(0) { $0 + Int128($1.revenueMaxMicros) }
    }

    /// Widens the bounds so that they cover other ones.
    mutating func cover(_ other: RevenueBounds) {
        minMicros = min(minMicros, other.minMicros)
        maxMicros = max(maxMicros, other.maxMicros)
    }

    /// No revenue at all.
    static let zero = RevenueBounds(minMicros: 0, maxMicros: 0)
}

extension ConversionModelVersion {
    /// Between which amounts the revenue lies, whatever a value leaves open.
    ///
    /// A value that the version speaks of has the bounds of its events. A missing value, and a coarse one
    /// in a window for which the version lists no coarse values, may hide anything: from 0 to the
    /// largest revenue that the version has for the window.
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

    /// Whether a value of a window says anything by itself: a fine one, and a coarse one where the
    /// version lists any.
    package func speaks(fine: Int?, coarse: CoarseValue?, sequenceIndex: Int) -> Bool {
        fine != nil || (coarse != nil && hasCoarseValues(sequenceIndex: sequenceIndex))
    }

    private func hasCoarseValues(sequenceIndex: Int) -> Bool {
        CoarseValue.allCases.contains {
            !decode(coarse: $0, sequenceIndex: sequenceIndex).isEmpty
        }
    }

    /// Only the first window has fine values, and up to 3.0 there are no coarse ones.
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
    /// Between which amounts the revenue of a postback lies, by currency, whatever its value leaves
    /// open: whether it is missing or coarse, and which version was in effect when it was set.
    ///
    /// Every version that was in effect at some moment at which the value can have been set is covered.
    /// Where they have several currencies, the revenue may be in any one of them, and is 0 in the others.
    ///
    /// - Returns: nil when no version was in effect that decodes: then nothing bounds the revenue.
    package func revenueBounds(
        received: Int64, timing: PostbackTiming, fine: Int?, coarse: CoarseValue?,
        sequenceIndex: Int
    ) -> [String: RevenueBounds]? {
        let setting = timing.settingInterval(received: received)
        guard let latest = versionIndex(inEffectAtMilliseconds: setting.latest) else { return nil }
        let earliest = versionIndex(inEffectAtMilliseconds: setting.earliest) ?? 0
        let candidates = versions[earliest...latest]
        var bounds: [String: RevenueBounds] = [:]
        for version in candidates {
            let own = version.revenueBounds(
                timing: timing, fine: fine, coarse: coarse, sequenceIndex: sequenceIndex)
            bounds[version.currency, default: own].cover(own)
        }
        if bounds.count > 1 {
            for currency in bounds.keys { bounds[currency]?.cover(.zero) }
        }
        return bounds
    }
}
