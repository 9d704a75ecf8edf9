import Inspection
import PartnerPostbacks
import Pipelines
import Streams

/// The partners of the configuration, with their deliveries, as text.
struct PartnersReport {
    private struct Line {
        var partner: Partner
        var counts: [DeliveryState: Int]
        var disabled: DisabledPartner?
        var rest: PartnerRest?
    }

    private let lines: [Line]

    init(_ partners: [Partner], _ stores: [DeliveryStore]) throws {
        var counts: [String: [DeliveryState: Int]] = [:]
        var disabled: [DisabledPartner] = []
        var resting: [String: PartnerRest] = [:]
        for store in stores {
            for (partner, state, count) in try store.counts() {
                counts[partner, default: [:]][state, default: 0] += count
            }
            disabled += try store.disabledPartners()
            resting.merge(try store.restingPartners()) {
                $0.untilMilliseconds > $1.untilMilliseconds ? $0 : $1
            }
        }
        lines = partners.map { partner in
            Line(
                partner: partner, counts: counts[partner.name] ?? [:],
                disabled: disabled.first { $0.name == partner.name }, rest: resting[partner.name])
        }
    }

    func text(_ format: ReportFormat) -> String {
        switch format {
        case .table: table
        case .json: json
        }
    }

    private var table: String {
        guard !lines.isEmpty else { return "no partners\n" }
        let table = TextTable(
            header: ["partner", "trust", "method", "url"] + DeliveryState.allCases.map(\.rawValue)
                + ["note"],
            isNumber: [false, false, false, false] + DeliveryState.allCases.map { _ in true }
                + [false],
            rows: lines.map { line in
                let delivery = line.partner.delivery
                return [line.partner.name, Self.trust(line.partner), delivery.method.rawValue]
                    + [Self.url(line.partner) ?? ""]
                    + DeliveryState.allCases.map { "\(line.counts[$0] ?? 0)" }
                    + [Self.note(line)]
            })
        return table.lines.joined(separator: "\n") + "\n"
    }

    private static func trust(_ partner: Partner) -> String {
        partner.trust.map(\.rawValue).sorted().joined(separator: ",")
    }

    /// Where its postbacks go; nil when they go nowhere yet.
    private static func url(_ partner: Partner) -> String? {
        partner.delivery.isOff ? nil : partner.delivery.url.text
    }

    private static func note(_ line: Line) -> String {
        if line.partner.delivery.isOff { return "off: its file has no url" }
        if let disabled = line.disabled {
            return
                "disabled: it answered \(disabled.status); see weir deliveries retry --partner \(line.partner.name)"
        }
        guard let rest = line.rest else { return "" }
        let time = UTC.text(milliseconds: rest.untilMilliseconds)
        return switch rest.cause {
        case .asked: "asked for a pause until \(time)"
        case .away: "cannot be reached; asked again at \(time)"
        }
    }

    private var json: String {
        var json = JSONText()
        json.array { json in
            for line in lines {
                json.object { json in
                    json.name("partner")
                    json.string(line.partner.name)
                    json.name("trust")
                    json.array { json in
                        for verdict in line.partner.trust.map(\.rawValue).sorted() {
                            json.string(verdict)
                        }
                    }
                    json.name("method")
                    json.string(line.partner.delivery.method.rawValue)
                    json.name("url")
                    json.string(Self.url(line.partner))
                    for state in DeliveryState.allCases {
                        json.name(state.rawValue)
                        json.raw(line.counts[state] ?? 0)
                    }
                    json.name("disabled")
                    json.raw(line.disabled != nil)
                    json.name("rests_because")
                    json.string(line.rest?.cause.rawValue)
                    json.name("rests_until")
                    json.string(line.rest.map { UTC.text(milliseconds: $0.untilMilliseconds) })
                }
            }
        }
        return json.text.withoutControlsInJSON + "\n"
    }
}
