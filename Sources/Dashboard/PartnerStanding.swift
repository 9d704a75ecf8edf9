import ConfigurationValues
import Program
import Reports
import Store
import Streams
import Wording

/// Whether a partner is sent what is made for it, and what is in the way.
struct PartnerStanding {
    let name: String
    /// Nil for one that deliveries are held for and that no file configures.
    let partner: Partner?
    /// Why nothing, or nothing new, is sent; nil when nothing is in the way.
    let obstacle: String?
    /// What ends that; empty where `obstacle` is nil.
    private let remedy: String
    /// Deliveries that wait until an operator changes something.
    let held: Int
    private let isDisabled: Bool

    /// The configured partners in order, then those without a file that deliveries are held for. A partner whose file
    /// cannot be read is among the faults only.
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
            obstacle = "it has no file"
            remedy = "Add \(file)."
        } else if partner?.delivery.isOff == true {
            obstacle = "it has no url"
            remedy = "Add delivery.url to \(file)."
        } else if let disabled {
            obstacle = "it \(disabled.explanation)"
            remedy = disabled.remedy
        } else if let folded, let partner, !folded.contains(PartnerRule(partner)) {
            let isKnown = folded.contains { $0.name == name }
            obstacle =
                isKnown
                ? "weir-postbacks still makes its documents by an earlier trust or filter"
                : "weir-postbacks does not make documents for it yet"
            remedy = restart
        } else {
            obstacle = nil
            remedy = ""
        }
    }

    /// What is in the way, how much waits, and what to do.
    var explanation: String {
        let waiting = held > 0 ? " \(counted(held, "document")) wait\(held == 1 ? "s" : "")." : ""
        guard let obstacle else { return "\(name):\(waiting) Each has the reason in its row." }
        return "\(name): \(obstacle).\(waiting) \(remedy)"
    }

    /// What to run in a shell.
    var command: String {
        if isDisabled { return "weir deliveries retry --partner \(name)" }
        return held > 0
            ? "weir deliveries list --partner \(name) --state held" : "weir partners list"
    }
}

extension PageSource {
    /// The partners that postbacks are folded for now, by the newest configuration of each partition; nil where no
    /// store of postbacks tells.
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
                        // A partner counts once all partitions are folded for it.
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
