import ConfigurationValues
import EventLog
import Program
import Reports
import Store
import Streams
import Wording

/// Whether a partner receives its documents, and any obstacle.
struct PartnerStanding {
    let name: String
    /// Nil for a partner with held deliveries but without a configuration file.
    let partner: Partner?
    /// Why no documents, or no new ones, are sent; nil without an obstacle.
    let obstacle: String?
    /// How to remove the obstacle; empty when `obstacle` is nil.
    private let remedy: String
    /// Deliveries that wait for an operator's change.
    let held: Int
    private let isDisabled: Bool

    /// The configured partners in order, then those with held deliveries but without a file. A partner with an
    /// unreadable file is only among the faults.
    static func all(
        _ source: PageSource, _ stores: [DeliveryStore]
    ) throws -> (standings: [PartnerStanding], faults: [ConfigurationError]) {
        let directory = source.installation.pipelines
        let (configured, faults) = directory.exists ? directory.readablePartners() : ([], [])
        var held: [String: Int] = [:]
        for store in stores {
            for entry in try store.counts() where entry.state == .held {
                held[entry.partner, default: 0] += entry.count
            }
        }
        let disabled = try stores.flatMap { try $0.disabledPartners() }
        let folded = try source.foldedPartners()
        let files = configured.map(\.name) + faults.map(\.name)
        let strangers = held.keys.filter { !files.contains($0) }
        let standings =
            configured.map { partner in
                PartnerStanding(
                    partner.name, partner, disabled: disabled.first { $0.name == partner.name },
                    folded: folded, held: held[partner.name] ?? 0, in: directory)
            }
            + strangers.sorted().map { name in
                PartnerStanding(
                    name, nil, disabled: nil, folded: folded, held: held[name] ?? 0, in: directory)
            }
        return (standings, faults.map(\.fault))
    }

    private init(
        _ name: String, _ partner: Partner?, disabled: DisabledPartner?, folded: [PartnerRule]?,
        held: Int, in directory: PipelineDirectory
    ) {
        self.name = name
        self.partner = partner
        self.held = held
        isDisabled = disabled != nil
        let file = "\(directory.path)/partners/\(name).yaml"
        let restart = "Restart weir-postbacks (weir up runs it)."
        if partner == nil {
            obstacle = "its file is missing"
            remedy = "Add \(file)."
        } else if partner?.delivery.isOff == true {
            obstacle = "its file has no url"
            remedy = "Add delivery.url to \(file)."
        } else if let disabled {
            obstacle = "it \(disabled.explanation)"
            remedy = disabled.remedy
        } else if let folded, let partner, !folded.contains(PartnerRule(partner)) {
            let isKnown = folded.contains { $0.name == name }
            obstacle =
                isKnown
                ? "weir-postbacks still uses an earlier trust or filter for its documents"
                : "weir-postbacks does not publish documents for it yet"
            remedy = restart
        } else {
            obstacle = nil
            remedy = ""
        }
    }

    /// The host of its URL; nil if it is off. The rest of the URL may contain secrets.
    var host: String? {
        guard let delivery = partner?.delivery, !delivery.isOff else { return nil }
        let address = delivery.url.text.split(separator: "://", maxSplits: 1).last ?? ""
        let host = address.prefix { !"/?#".contains($0) }.split(separator: "@").last
        return host.map(String.init)
    }

    /// The obstacle, the number of waiting documents, and the remedy.
    var explanation: String {
        let waiting = held > 0 ? " \(counted(held, "document")) wait\(held == 1 ? "s" : "")." : ""
        guard let obstacle else { return "\(name):\(waiting) See the reason in each row." }
        return "\(name): \(obstacle).\(waiting) \(remedy)"
    }

    /// A shell command.
    var command: String {
        if isDisabled { return "weir deliveries retry --partner \(name)" }
        return held > 0
            ? "weir deliveries list --partner \(name) --state held" : "weir partners list"
    }
}

/// A partner that gets nothing for a while.
struct PausedPartner {
    let name: String
    private let rest: PartnerRest

    init(_ name: String, _ rest: PartnerRest) {
        self.name = name
        self.rest = rest
    }

    var words: String {
        let cause =
            switch rest.cause {
            case .away: "could not be reached"
            case .asked: "asked for a pause"
            }
        return "\(name) \(cause): paused until \(UTC.text(milliseconds: rest.untilMilliseconds))."
    }
}

extension PartnerStanding {
    /// Partners with a pause, by name.
    static func rests(_ stores: [DeliveryStore]) throws -> [PausedPartner] {
        let now = WallClock.milliseconds
        return try stores.flatMap { try $0.restingPartners() }
            .filter { !$0.value.isOver(nowMilliseconds: now) }
            .sorted { $0.key < $1.key }.map { PausedPartner($0.key, $0.value) }
    }
}

extension PageSource {
    /// The partners that postbacks are currently folded for, according to the newest configuration of each partition;
    /// nil without a store of postbacks.
    func foldedPartners() throws -> [PartnerRule]? {
        do {
            return try stores.withSlices(of: [PostbacksFold.streamName]) { slices in
                var found: [PartnerRule]?
                for slice in slices {
                    for state in slice.partitions {
                        let epochs = try slice.snapshot.epochs(of: state.partition)
                        guard let newest = epochs.last else { continue }
                        let rules = try PostbacksRules(
                            recorded: newest.configuration,
                            from: .pipelines(installation.pipelines))
                        // A partner counts only if all partitions are folded for it.
                        found = found?.filter(rules.partners.contains) ?? rules.partners
                    }
                }
                return found
            }
        } catch InspectionError.noStore {
            return nil
        }
    }
}
