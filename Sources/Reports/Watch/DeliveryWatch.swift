import ConfigurationValues
import Store
import Streams
import Wording

extension WatchReport {
    /// Adds the partners with too many failed documents.
    package mutating func add(_ rules: [WatchFile.Failures], in stores: [DeliveryStore]) throws {
        for rule in rules {
            let since = nowMilliseconds - rule.hours * Hour.milliseconds
            var failures: [String: (count: Int, first: Int64)] = [:]
            for store in stores {
                for found in try store.failures(
                    sinceMilliseconds: since, untilMilliseconds: nowMilliseconds)
                where rule.partner == nil || rule.partner == found.partner {
                    let counted = failures[found.partner, default: (0, .max)]
                    failures[found.partner] = (
                        counted.count + found.count, min(counted.first, found.firstMilliseconds)
                    )
                }
            }
            judgedCount += rule.partner == nil ? failures.count : 1
            for (partner, found) in failures.sorted(by: { $0.key < $1.key }) {
                guard let step = LimitStep.reached(Int128(found.count), of: rule.limit) else {
                    continue
                }
                warnings.append(
                    WatchWarning(
                        kind: .deliveries, rule: partner, step: step,
                        openedMilliseconds: found.first,
                        found: .integer(Int128(found.count)), limit: .integer(Int128(rule.limit)),
                        unit: "documents",
                        words:
                            "\(counted(found.count, "document")) failed in \(rule.hours) h: \(step) % of the limit of \(rule.limit)",
                        look: "weir deliveries list --partner \(partner)"))
            }
        }
    }
}
