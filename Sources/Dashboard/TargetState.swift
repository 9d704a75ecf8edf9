import ConfigurationValues
import Reports

/// Whether a campaign reaches a target. A bound that is not final decides only in its own direction.
struct TargetState: Equatable {
    enum State { case reached, missed, open, unknown }

    let state: State
    let text: String
    /// Why; empty for a single value.
    var reason = ""
    /// Larger for a result that is better in proportion to its target; orders campaigns of one state.
    private var margin = 0.0

    init(costPerInstall: Double?, _ targetMicros: Int64) {
        let target = Double(targetMicros) / 1e6
        let shown = ShownValue.money(Int128(targetMicros), "")
        guard let costPerInstall else {
            (state, text, reason) = (
                .unknown, "target \(shown)", "cost per install not known"
            )
            return
        }
        margin = target / (target + costPerInstall)
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
        margin = (low ?? 0) / (target + (low ?? 0))
        if let low, low >= target {
            (state, text, reason) = (.reached, "✓ above target \(shown)", "whole range above")
        } else if let high, high < target {
            (state, text, reason) =
                isFinal
                ? (.missed, "✗ below target \(shown)", "whole range below")
                : (.open, "◌ below target \(shown) so far", "more postbacks can arrive")
        } else {
            let isInside = low != nil && high != nil
            (state, text, reason) = (
                .open, "◌ not certain: target \(shown)",
                isInside ? "the target is in the range" : "a bound is not known"
            )
        }
    }

    /// Sorts campaigns: those to scale first, then the open ones, then those to cut; unknown ones are last.
    var order: Double {
        switch state {
        case .reached: 2 + margin
        case .open: 1 + margin
        case .missed: margin
        case .unknown: -.infinity
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
        if !reason.isEmpty { html.element("small", text: reason) }
    }
}

/// A campaign against each of its targets.
struct TargetStates {
    /// Nil without a target.
    let ofReturn: TargetState?
    let ofCost: TargetState?
    /// The row and the bounds of the compared return.
    let returned: (answer: PageAnswer?, row: [ReportValue]?, low: String, high: String)
    let kind: ReturnKind

    static let returnDecides = "decided by the return"

    /// - Parameters:
    ///   - row: of `answers.now`.
    ///   - returns: of `answers.returns`.
    ///   - estimates: of the estimated returns, which are narrower than the bounds.
    init(
        _ targets: CatalogCampaign.Targets?, _ answers: CampaignAnswers, _ row: [ReportValue]?,
        _ returns: [ReportValue]?, _ estimates: [ReportValue]?
    ) {
        ofCost = targets?.costPerInstallMicros.map {
            TargetState(costPerInstall: answers.recordedCost(row), $0)
        }
        func amount(_ answer: PageAnswer?, _ row: [ReportValue]?, _ measure: String) -> Double? {
            CampaignTable.amount(answer, row, measure)
        }
        let estimated = answers.estimates?.answer
        let isEstimated = [EstimatedReturns.low, EstimatedReturns.high].allSatisfy {
            amount(estimated, estimates, $0) != nil
        }
        kind = isEstimated ? .estimated : .bounds
        let (answer, compared, low, high) =
            isEstimated
            ? (estimated, estimates, EstimatedReturns.low, EstimatedReturns.high)
            : (answers.returns, returns, "roas_min", "roas_max")
        returned = (answer, compared, low, high)
        let isFinal = isEstimated || amount(answer, compared, "maturity") == 1
        ofReturn = targets?.returnMicros.map {
            TargetState(
                low: amount(answer, compared, low), high: amount(answer, compared, high),
                isFinal: isFinal, $0)
        }
    }

    /// The return, or else the cost per install.
    var deciding: TargetState? { ofReturn ?? ofCost }

    /// Whether the cost per install alone would lead to another decision.
    var disagree: Bool {
        guard let ofReturn, let ofCost else { return false }
        return ofCost.state != .unknown && ofReturn.state != ofCost.state
    }
}

extension CampaignTable {
    /// Lists the campaigns that reach their target, those that miss it, and the open ones.
    ///
    /// - Parameter outlying: campaigns with fraud signals, which are marked.
    func writeDecisions(outlying: Set<[String]>, to html: inout HTML) {
        typealias Entry = (order: Double, key: [ReportRequest.Condition], isOutlying: Bool)
        var campaigns: [TargetState.State: [Entry]] = [:]
        for row in rows {
            let (key, campaign) = (answers.now.key(of: row), Self.key(answers.now, row))
            let states = TargetStates(
                Self.targets(key, names), answers, row, byReturn[campaign], byEstimate[campaign])
            guard let state = states.deciding else { continue }
            campaigns[state.state, default: []].append(
                (state.order, key, outlying.contains(campaign)))
        }
        guard !campaigns.isEmpty else { return }
        html.element("ul", ["class": "list"]) { html in
            for (state, title) in [
                (TargetState.State.reached, "✓ Reach their target"),
                (.missed, "✗ Miss their target"), (.open, "◌ Not certain"),
                (.unknown, "No installs or return yet"),
            ] {
                guard let found = campaigns[state]?.sorted(by: { $0.order > $1.order }) else {
                    continue
                }
                html.element("li") { html in
                    html.element("b", text: "\(title): ")
                    for (index, (_, key, isOutlying)) in found.prefix(Self.mostDecisions)
                        .enumerated()
                    {
                        if index > 0 { html.text(", ") }
                        func value(_ column: String) -> String? {
                            key.first { $0.column == column }?.value
                        }
                        let id = value("campaign") ?? ""
                        let name = names.name(id, in: "campaign", row: value) ?? id
                        let page = link(key)
                        write(name, page, to: &html)
                        guard isOutlying else { continue }
                        html.text(" (")
                        write("fraud signals", page?.at("fraud-signals"), to: &html)
                        html.text(")")
                    }
                    let more = found.count - Self.mostDecisions
                    if more > 0 { html.text(" and \(more) more") }
                }
            }
        }
    }

    private func write(_ text: String, _ page: PageAddress?, to html: inout HTML) {
        if let page { html.link(text, to: page) } else { html.text(text) }
    }

    private static let mostDecisions = 12
}
