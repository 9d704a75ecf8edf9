import Engine
import EventLog
import Program
import Streams

/// The streams whose ids are remembered for a window; the raw value is that of topic and store.
package enum WindowedStream: String, CaseIterable {
    case bids
    case impressions
    case overlayClicks = "overlay-clicks"
    case conversionUpdates = "conversion-updates"

    package var program: String { "weir-\(rawValue)" }

    /// Name of the view of the stream's first aggregate.
    package var view: String { rawValue.replacing("-", with: "_") }

    /// A mixture of records: a third repeated, some broken, timestamps out of order over three hours.
    package func records(_ count: Int, seed: UInt64) -> [OutgoingRecord] {
        switch self {
        case .bids: Samples.bids(count, seed: seed)
        case .impressions:
            Samples.mixture(of: rawValue, count, seed: seed) { id, generator in
                switch Int.random(in: 0..<8, using: &generator) {
                case 0: ("{\"impression_id\":\"\(id)\"", nil)
                case 1: ("{}", "skoverlay.unheard")
                case 2, 3: (Samples.listings(of: id, &generator), "outbrain.listings_viewed")
                case 4: (Samples.impression(id, adapter: "x"), "inapp.impression")
                default: (Samples.impression(id), nil)
                }
            }
        case .overlayClicks:
            Samples.mixture(of: rawValue, count, seed: seed) { id, generator in
                switch Int.random(in: 0..<8, using: &generator) {
                case 0: ("{\"impression_id\":\"\(id)\"", nil)
                case 1: ("{}", "skoverlay.unheard")
                case 2, 3: (Samples.impression(id, adapter: "x"), "inapp.click")
                default: (Samples.click(id, &generator), nil)
                }
            }
        case .conversionUpdates:
            Samples.mixture(of: rawValue, count, seed: seed) { id, generator in
                switch Int.random(in: 0..<8, using: &generator) {
                case 0: ("{\"install_id\":\"\(id)\"", nil)
                case 1: ("{}", "conversion.unheard")
                default: (Samples.update(id, &generator), nil)
                }
            }
        }
    }
}

extension Samples {
    /// Records of a topic, of ids that come again; `make` gives a value and its type.
    package static func mixture(
        of topic: String, _ count: Int, seed: UInt64,
        _ make: (String, inout SeededGenerator) -> (String, String?)
    ) -> [OutgoingRecord] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { number in
            let id = "i\(Int.random(in: 0..<max(1, count * 2 / 3), using: &generator))"
            let time =
                start + Int64(number) * 2000 - Int64.random(in: 0...5_000_000, using: &generator)
            let partition = Int32(id.utf8.reduce(0) { $0 &+ Int($1) } % 4)
            guard Int.random(in: 0..<12, using: &generator) > 0 else {
                return record(topic, nil, key: id, partition: partition, at: time)
            }
            let (value, type) = make(id, &generator)
            return record(topic, value, key: id, type: type, partition: partition, at: time)
        }
    }

    /// Reports of costs, of cells that come again with the same words or others, some too late a day.
    package static func costs(_ count: Int, seed: UInt64) -> [OutgoingRecord] {
        mixture(of: "costs", count, seed: seed) { id, generator in
            guard Int.random(in: 0..<8, using: &generator) > 0 else { return ("{}", nil) }
            let day = Int.random(in: 19...21, using: &generator)
            let lateDay = Int.random(in: 0..<20, using: &generator) == 0 ? 28 : day
            let amount = Int.random(in: 0...3, using: &generator)
            return (
                """
                {"source":"s","day":"2026-11-\(lateDay)","campaign":{"campaign_id":\(id.dropFirst())},\
                "currency":"USD","amount":\(amount).5,"clicks":\(id.utf8.last ?? 0)}
                """, nil
            )
        }
    }

    package static func impression(_ id: String, adapter: String = "") -> String {
        """
        {"impression_id":"\(id)","zone_id":"\(id.utf8.count)","adapter":"\(adapter)",\
        "campaign":{"campaign_id":\(id.utf8.last ?? 0)}}
        """
    }

    package static func click(_ id: String, _ generator: inout SeededGenerator) -> String {
        """
        {"impression_id":"\(id)","initiated_by":"\(["user", "automatic"].randomElement(using: &generator) ?? "")",\
        "sdk_version":"3.1.0","presented_at_ms":5,"clicked_at_ms":\(Int.random(in: 3...9, using: &generator))}
        """
    }

    package static func update(_ id: String, _ generator: inout SeededGenerator) -> String {
        """
        {"update_id":"\(id)","install_id":"i","app_id":\(Int.random(in: 1...3, using: &generator)),\
        "outcome":"told","model":"m","fine":{"told":{"value":\(id.utf8.last ?? 0),"model":"m"}}}
        """
    }

    package static func listings(of request: String, _ generator: inout SeededGenerator) -> String {
        let listings = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
            """
            {"request_id":"\(request)","position":\(Int.random(in: 0..<6, using: &generator)),\
            "time_elapsed_ms":\([5, 1_800_001].randomElement(using: &generator) ?? 0)}
            """
        }
        return """
            {"widget_id":"w","widget_index":0,"listings":[\(listings.joined(separator: ","))]}
            """
    }
}
