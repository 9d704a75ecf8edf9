import Reports

/// Whether a campaign reaches a target. A bound that is not final decides only in its own direction.
struct TargetState: Equatable {
    enum State { case reached, missed, open, unknown }

    let state: State
    let text: String

    init(costPerInstall: Double?, _ targetMicros: Int64) {
        let target = Double(targetMicros) / 1e6
        let shown = ShownValue.money(Int128(targetMicros), "")
        guard let costPerInstall else {
            (state, text) = (.unknown, "target \(shown)")
            return
        }
        let percent = Int(((costPerInstall / target - 1) * 100).rounded())
        state = costPerInstall <= target ? .reached : .missed
        text =
            costPerInstall <= target
            ? "✓ within target \(shown)" : "✗ \(max(percent, 1)) % above target \(shown)"
    }

    /// - Parameter isFinal: whether no more postbacks are expected.
    init(low: Double?, high: Double?, isFinal: Bool, _ targetMicros: Int64) {
        let target = Double(targetMicros) / 1e6
        let shown = ShownValue.money(Int128(targetMicros), "")
        if let low, low >= target {
            (state, text) = (.reached, "✓ target \(shown) reached")
        } else if let high, high < target {
            (state, text) =
                isFinal
                ? (.missed, "✗ target \(shown) missed") : (.open, "◌ below target \(shown) so far")
        } else {
            (state, text) = (.open, "◌ target \(shown) undecided")
        }
    }

    func write(to html: inout HTML) {
        let style =
            switch state {
            case .reached: "target good"
            case .missed: "target bad"
            case .open, .unknown: "target"
            }
        html.element("small", ["class": style], text: text)
    }
}
