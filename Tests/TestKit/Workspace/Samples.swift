import EventLog

/// Records for the workers: good ones, repeated ones, late ones and broken ones.
package enum Samples {
    package static let start: Int64 = 1_795_219_200_000

    package static func record(
        _ topic: String, _ value: String?, key: String? = nil, type: String? = nil,
        partition: Int32? = nil, at milliseconds: Int64 = start
    ) -> OutgoingRecord {
        OutgoingRecord(topic, value, key: key, type: type, partition: partition, at: milliseconds)
    }

    package static func auction(
        _ id: String, price: String = "1.25", seat: String = "dsp-1"
    ) -> String {
        """
        {"request":{"id":"\(id)","app":{"bundle":"880047117"}},"response":{"seatbid":[{"seat":\
        "\(seat)","bid":[{"id":"b","impid":"1","price":\(price)}]}]}}
        """
    }

    /// A record of an auction.
    package static func bid(
        _ id: String, price: String = "1.25", seat: String = "dsp-1", partition: Int32 = 0,
        at milliseconds: Int64 = start
    ) -> OutgoingRecord {
        OutgoingRecord(
            "bids", auction(id, price: price, seat: seat), partition: partition, at: milliseconds)
    }

    /// Records of auctions without a repetition.
    package static func bids(_ numbers: Range<Int>) -> [OutgoingRecord] {
        numbers.map { bid("a\($0)") }
    }

    /// A mixture of bids: a third repeated, some broken, timestamps out of order over three hours.
    package static func bids(_ count: Int, seed: UInt64) -> [OutgoingRecord] {
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
    package static let key = PostbackSigner()

    package static var trustedKeys: String {
        "trusted_keys:\n  production: [\"\(key.publicKey)\"]\n"
    }

    package static let network = "su67r6k2v3.skadnetwork"

    /// A postback of version 3.0, signed with `key` unless it is forged.
    package static func postback(
        _ transaction: String, value: Int? = 4, app: Int = 525_463_029, forged: Bool = false,
        didWin: Bool = true
    ) throws -> String {
        let signature = try key.signature(
            over: ["3.0", network, "42", "\(app)", transaction, "false", "1", "\(didWin)"])
        let conversion = value.map { "\"conversion-value\":\($0)," } ?? ""
        return """
            {"version":"3.0","ad-network-id":"\(network)","campaign-id":42,"app-id":\(app),\
            "transaction-id":"\(transaction)","redownload":false,"fidelity-type":1,"did-win":\(didWin),\
            \(conversion)"attribution-signature":"\(forged ? "MEUCIQ==" : signature)"}
            """
    }

    /// A postback of version 4.0, signed with `key`; its source identifier may be shortened.
    package static func postback(
        _ transaction: String, sourceIdentifier: String, value: Int = 4
    ) throws -> String {
        let signature = try key.signature(over: [
            "4.0", network, sourceIdentifier, "525463029", transaction, "false", "1", "true", "0",
        ])
        return """
            {"version":"4.0","ad-network-id":"\(network)",\
            "source-identifier":"\(sourceIdentifier)","app-id":525463029,\
            "transaction-id":"\(transaction)","redownload":false,"fidelity-type":1,\
            "did-win":true,"postback-sequence-index":0,"conversion-value":\(value),\
            "attribution-signature":"\(signature)"}
            """
    }

    /// A record of a postback of version 3.0.
    package static func signed(
        _ transaction: String, value: Int? = 4, app: Int = 525_463_029, forged: Bool = false,
        key: String? = nil, partition: Int32 = 0, at milliseconds: Int64 = start
    ) throws -> OutgoingRecord {
        OutgoingRecord(
            "postbacks", try postback(transaction, value: value, app: app, forged: forged),
            key: key, partition: partition, at: milliseconds)
    }

    /// A mixture of postbacks: repeated, conflicting, forged and broken ones.
    package static func postbacks(_ count: Int, seed: UInt64) throws -> [OutgoingRecord] {
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

    package static let modelFile = "conversion-models/525463029.yaml"
    package static let model = """
        app: 525463029
        versions:
          - id: first
            effective_from: 2026-01-01T00:00:00Z
            currency: USD
            fine:
              fields:
                - {bits: [0, 3], kind: revenue, buckets: [0, 1, 5, 10, 50], max: 100}

        """
    package static let partner = """
        name: acme
        trust: [valid]
        delivery: {url: "https://partner.example.com/postbacks"}

        """
}
