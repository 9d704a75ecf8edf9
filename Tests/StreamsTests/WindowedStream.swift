import Streams
import TestKit
import Testing

/// The streams whose ids are remembered for a window.
enum WindowedStream: String, CaseIterable {
    case bids
    case impressions
    case overlayClicks = "overlay-clicks"
    case conversionUpdates = "conversion-updates"

    /// A good record with this id.
    func event(_ id: String, _ timestamp: Int64 = TestRecord.halfPastFive) -> TestRecord {
        TestRecord(document(id), type: type, timestamp: timestamp)
    }

    /// The same with a fault.
    func brokenEvent(_ id: String) -> TestRecord {
        TestRecord(document(id).with(["campaign": 5, "outcome": 5]), type: type)
    }

    private var type: String {
        switch self {
        case .bids: "openrtb.win"
        case .impressions: "inapp.handover"
        case .overlayClicks: "inapp.click"
        case .conversionUpdates: "conversion.update"
        }
    }

    private func document(_ id: String) -> Document {
        switch self {
        case .bids: ["auction_id": .string(id), "bid_id": "b"]
        case .impressions, .overlayClicks: ["impression_id": .string(id), "adapter": "x"]
        case .conversionUpdates:
            ["update_id": .string(id), "install_id": "i", "app_id": 1, "outcome": "unchanged"]
        }
    }
}

/// Makes records of a stream, good and bad ones, many of them duplicates.
struct RandomRecords {
    let stream: WindowedStream
    var random: SeededGenerator
    private var time = TestRecord.halfPastFive

    init(_ stream: WindowedStream, seed: UInt64) {
        self.stream = stream
        random = SeededGenerator(seed: seed)
    }

    mutating func records(_ count: Int) -> [TestRecord] {
        (0..<count).map { _ in
            time += Int64.random(in: -300_000...400_000, using: &random)
            var record = record()
            record.timestamp = Int.random(in: 0..<50, using: &random) == 0 ? -1 : time
            record.partition = Int32.random(in: 0..<4, using: &random)
            return record
        }
    }

    private mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &random)]
    }

    private mutating func record() -> TestRecord {
        let id = Document.string("\(Int.random(in: 0..<25, using: &random))")
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return TestRecord(pick(["{", "[]", "{}", "\"\u{1}\"", ""]))
        case 1: return TestRecord(nil as [UInt8]?, type: pick([nil, "no.such", "openrtb.win"]))
        default: break
        }
        return switch stream {
        case .bids: bid(id)
        case .impressions: impression(id)
        case .overlayClicks: click(id)
        case .conversionUpdates: update(id)
        }
    }

    private mutating func update(_ id: Document) -> TestRecord {
        func standing(_ value: Document) -> Document { ["value": value, "model": "m"] }
        return TestRecord(
            [
                "update_id": id, "install_id": "i", "app_id": pick([1, "2"]),
                "outcome": .string(
                    pick(["told", "unchanged", "locked", "ended", "no_model", "stale", "x"])),
                "request": pick(["conversion_value", "event"]),
                "sequence_index": pick([0, .null]),
                "fine": [
                    "told": pick([standing(5), standing(7)]),
                    "told_before": pick([standing(5), .null]),
                    "reported": pick([standing(1), standing(9), .null]),
                ],
                "coarse": ["told": standing("low")], "error": pick([0, 5]),
            ] as Document)
    }

    private mutating func bid(_ id: Document) -> TestRecord {
        switch Int.random(in: 0..<8, using: &random) {
        case 0...3:
            TestRecord(
                Auction.with([
                    "request.id": id,
                    Auction.bid + ".price": .raw(pick(["1", "2.5", "-1", "1e-7"])),
                    Auction.skadn + ".version": .string(pick(["4.0", "2.2", "9"])),
                    "response.seatbid.0.seat": .string(pick(["acme", "zenith", ""])),
                ]))
        case 4:
            TestRecord(
                [
                    "auction_id": id, "adapter": .string(pick(["x", "y"])),
                    "competition_type": "price",
                    "price": pick([1, 2, "3"]), "currency": "EUR",
                ] as Document, type: pick(["inapp.bid", "inapp.bidder_won"]))
        default:
            TestRecord(
                [
                    "auction_id": id, "bid_id": "b", "price": pick([1, 2]),
                    "loss_reason": pick([1, 2.5]),
                    "campaign": ["campaign_id": pick([1, "2", "x"])],
                ] as Document, type: pick(["openrtb.win", "openrtb.loss", "openrtb.billing"]))
        }
    }

    private mutating func impression(_ id: Document) -> TestRecord {
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            return TestRecord(
                Outbrain.recommendations.with([
                    "response.response.request.req_id": id,
                    "response.response.documents.doc.0.pc_cmp_id": pick([1, "2", 3.5]),
                    "test": pick([true, false, nil]),
                ]), type: "outbrain.recommendations")
        case 1:
            let listings = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                [
                    "request_id": id, "position": pick([0, "1", 2, 3, "4"]),
                    "time_elapsed_ms": pick([1, 1_800_001]),
                ] as Document
            }
            return TestRecord(
                ["widget_id": "w", "widget_index": 0, "listings": .array(listings)] as Document,
                type: "outbrain.listings_viewed")
        default:
            return TestRecord(
                [
                    "impression_id": id, "adapter": pick(["x", "y"]), "zone_id": pick(["1", "2"]),
                    "by": pick(["user", "nobody"]), "ad_format": pick(["banner", "interstitial"]),
                    "fidelity": pick([0, 1, 2]), "test": pick([true, false, false]),
                    "campaign": ["campaign_id": pick([1, "2"])],
                ] as Document,
                type: pick([
                    nil, "skoverlay.dismissed", "skadn.impression", "inapp.loaded",
                    "inapp.impression",
                ]))
        }
    }

    private mutating func click(_ id: Document) -> TestRecord {
        TestRecord(
            [
                "impression_id": id, "click_id": pick([nil, id]) ?? .null, "request_id": id,
                "position": pick([0, "1", "x"]), "widget_id": "w", "widget_index": pick([0, 1]),
                "adapter": pick(["x", "y"]), "initiated_by": pick(["user", "automatic"]),
                "sdk_version": pick(["3.1.0", "3.0.9"]), "presented_at_ms": pick([5, .null]),
                "clicked_at_ms": pick([4, 6]), "paid": pick([true, false]),
                "opened": pick([true, .null, false]), "test": pick([true, false, false]),
                "url": pick(["https://paid.outbrain.com/", "https://example.com/"]),
            ] as Document, type: pick([nil, "outbrain.click", "inapp.click"]))
    }
}
