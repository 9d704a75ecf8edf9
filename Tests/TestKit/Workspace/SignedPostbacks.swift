import EventLog

/// Random postbacks of 3.0 and 4.0 over sixty days: fine, coarse and missing values, all verdicts that
/// signatures give, winning and losing ones, repeated and contradicting ones.
package struct SignedPostbacks {
    package static let apps = [525_463_029, 525_463_030]
    /// A key that tests trust as development key.
    package static let developmentKey = PostbackSigner()

    package var random: SeededGenerator

    package init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    package static func configuration(trustsDevelopment: Bool) -> String {
        return """
            \(Samples.trustedKeys)  development: ["\(developmentKey.publicKey)"]
            trust_development: \(trustsDevelopment)

            """
    }

    /// Records in order of their time, which runs for so long.
    package mutating func records(
        _ count: Int, over milliseconds: Int64 = 60 * 86_400_000
    ) throws -> [OutgoingRecord] {
        try (0..<count).map { number in
            let index = Int.random(in: 0..<max(1, count * 4 / 5), using: &random)
            let id = "00000000-0000-0000-0000-\(100_000_000_000 + index)"
            let time = Samples.start + Int64(number) * (milliseconds / Int64(count))
            return Samples.record(
                "postbacks", try postback(id), key: id, partition: Int32(index % 4), at: time)
        }
    }

    private mutating func postback(_ transaction: String) throws -> String {
        let isLater = Bool.random(using: &random)
        let app = Self.apps[Int.random(in: 0...1, using: &random)]
        let campaign = Int.random(in: 40...42, using: &random)
        let didWin = Int.random(in: 0..<6, using: &random) > 0
        let window = isLater ? Int.random(in: 0...2, using: &random) : 0
        let network = Samples.network
        let signed =
            [isLater ? "4.0" : "3.0", network, "\(campaign)", "\(app)", transaction, "false", "1"]
            + ["\(didWin)"] + (isLater ? ["\(window)"] : [])
        let id =
            isLater
            ? "\"source-identifier\":\"\(campaign)\",\"postback-sequence-index\":\(window)"
            : "\"campaign-id\":\(campaign)"
        return """
            {"version":"\(signed[0])","ad-network-id":"\(network)",\(id),"app-id":\(app),\
            "transaction-id":"\(transaction)","redownload":false,"fidelity-type":1,\
            "did-win":\(didWin),\(value(isLater: isLater, window: window))\
            "attribution-signature":"\(try signature(of: signed))"}
            """
    }

    private mutating func value(isLater: Bool, window: Int) -> String {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return ""
        case 1 where isLater, 2 where isLater && window > 0, 3 where isLater && window > 0:
            let word = ["low", "medium", "high"][Int.random(in: 0...2, using: &random)]
            return "\"coarse-conversion-value\":\"\(word)\","
        default: return "\"conversion-value\":\(Int.random(in: 0...63, using: &random)),"
        }
    }

    private mutating func signature(of fields: [String]) throws -> String {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: "MEUCIQ=="
        case 1, 2: try Self.developmentKey.signature(over: fields)
        default: try Samples.key.signature(over: fields)
        }
    }
}
