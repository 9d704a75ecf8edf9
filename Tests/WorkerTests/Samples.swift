import Crypto
import EventLog
import Foundation
import Simulation

/// Records for the workers: good ones, repeated ones, late ones and broken ones.
enum Samples {
    static let start: Int64 = 1_795_219_200_000

    static func record(
        _ topic: String, _ value: String?, key: String? = nil, type: String? = nil,
        partition: Int32? = nil, at milliseconds: Int64 = start
    ) -> OutgoingRecord {
        OutgoingRecord(
            topic: topic, partition: partition, timestampMilliseconds: milliseconds,
            key: key.map { Array($0.utf8) },
            headers: type.map { [.init("ce_type", $0)] } ?? [],
            value: value.map { Array($0.utf8) })
    }

    static func auction(_ id: String, price: String = "1.25", seat: String = "dsp-1") -> String {
        """
        {"request":{"id":"\(id)","app":{"bundle":"880047117"}},"response":{"seatbid":[{"seat":\
        "\(seat)","bid":[{"id":"b","impid":"1","price":\(price)}]}]}}
        """
    }

    /// A mixture of bids: a third repeated, some broken, timestamps out of order over three hours.
    static func bids(_ count: Int, seed: UInt64) -> [OutgoingRecord] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { number in
            let id = "a\(Int.random(in: 0..<max(1, count * 2 / 3), using: &generator))"
            let time =
                start + Int64(number) * 2000 - Int64.random(in: 0...5_000_000, using: &generator)
            let partition = Int32(id.utf8.reduce(0) { $0 &+ Int($1) } % 4)
            let seat = "dsp-\(Int.random(in: 0..<5, using: &generator))"
            let (value, type): (String?, String?) =
                switch Int.random(in: 0..<12, using: &generator) {
                case 0: (nil, nil)
                case 1: ("{\"request\":{\"id\":\"\(id)\"", nil)
                case 2: ("{}", "openrtb.unheard")
                case 3:
                    (
                        """
                        {"auction_id":"\(id)","bid_id":"b","seat":"\(seat)","price":0.5,"loss_reason":\
                        102}
                        """, "openrtb.loss"
                    )
                default: (auction(id, seat: seat), nil)
                }
            return record("bids", value, key: id, type: type, partition: partition, at: time)
        }
    }

    /// A key that tests trust as production key.
    static let key = P256.Signing.PrivateKey()

    static var trustedKeys: String {
        "trusted_keys:\n  production: [\"\(key.publicKey.derRepresentation.base64EncodedString())\"]\n"
    }

    /// A postback of version 3.0, signed with `key` unless it is forged.
    static func postback(
        _ transaction: String, value: Int? = 4, app: Int = 525_463_029, forged: Bool = false
    ) throws -> String {
        let network = "su67r6k2v3.skadnetwork"
        let text = [
            "3.0", network, "42", "\(app)", transaction, "false", "1", "true",
        ].joined(separator: "\u{2063}")
        let signature =
            forged
            ? "MEUCIQ=="
            : try key.signature(for: Data(text.utf8)).derRepresentation.base64EncodedString()
        let conversion = value.map { "\"conversion-value\":\($0)," } ?? ""
        return """
            {"version":"3.0","ad-network-id":"\(network)","campaign-id":42,"app-id":\(app),\
            "transaction-id":"\(transaction)","redownload":false,"fidelity-type":1,"did-win":true,\
            \(conversion)"attribution-signature":"\(signature)"}
            """
    }

    /// A postback of version 4.0, signed with `key`; its source identifier may be shortened.
    static func postback(
        _ transaction: String, sourceIdentifier: String, value: Int = 4
    ) throws -> String {
        let network = "su67r6k2v3.skadnetwork"
        let text = [
            "4.0", network, sourceIdentifier, "525463029", transaction, "false", "1", "true", "0",
        ].joined(separator: "\u{2063}")
        let signature = try key.signature(for: Data(text.utf8)).derRepresentation
        return """
            {"version":"4.0","ad-network-id":"\(network)",\
            "source-identifier":"\(sourceIdentifier)","app-id":525463029,\
            "transaction-id":"\(transaction)","redownload":false,"fidelity-type":1,\
            "did-win":true,"postback-sequence-index":0,"conversion-value":\(value),\
            "attribution-signature":"\(signature.base64EncodedString())"}
            """
    }

    /// A mixture of postbacks: repeated, conflicting, forged and broken ones.
    static func postbacks(_ count: Int, seed: UInt64) throws -> [OutgoingRecord] {
        var generator = SeededGenerator(seed: seed)
        return try (0..<count).map { number in
            let index = Int.random(in: 0..<max(1, count * 2 / 3), using: &generator)
            let id = "00000000-0000-0000-0000-\(100_000_000_000 + index)"
            let value: String? =
                switch Int.random(in: 0..<10, using: &generator) {
                case 0: nil
                case 1: "[1"
                case 2: try postback(id, forged: true)
                case 3: try postback(id, value: 7)
                default: try postback(id)
                }
            return record(
                "postbacks", value, key: id, partition: Int32(index % 4),
                at: start + Int64(number) * 1000)
        }
    }

    static let model = """
        app: 525463029
        versions:
          - id: first
            effective_from: 2026-01-01T00:00:00Z
            currency: USD
            fine:
              fields:
                - {bits: [0, 3], kind: revenue, buckets: [0, 1, 5, 10, 50], max: 100}

        """
    static let partner = """
        name: acme
        trust: [valid]
        delivery: {url: "https://partner.example.com/postbacks"}

        """
}
