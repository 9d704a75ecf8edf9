/// Where the numbers of a fraud signal are explained: in the dumps that it is computed from.
package struct FraudSignalSource: Sendable {
    /// A number of a dump.
    package struct Number: Sendable {
        package let dump: String
        package let measure: String
        package var conditions: [ReportRequest.Condition] = []
    }

    /// Rows that add up to numbers.
    package struct Rows: Sendable {
        package let dump: String
        package let by: [String]
        package let measure: String
    }

    /// The signal in words.
    package let title: String
    /// Nil if it is not a sum of records of its row.
    package var count: Number?
    package var total: Number?
    package var share: Number?
    /// The rows of both parts, if they are not one division.
    package var rows: Rows?

    /// - Parameter signal: a value of the column `signal`.
    package static func of(_ signal: String) -> FraudSignalSource? {
        FraudSignals.Signal(rawValue: signal).map(of)
    }

    private static func of(_ signal: FraudSignals.Signal) -> FraudSignalSource {
        switch signal {
        case .conflicts: FraudSignalSource(title: "Postbacks that repeat an id with other values")
        case .replayed: FraudSignalSource(title: "Repeated records")
        case .invalid: ofVerdict("invalid", "Postbacks with an invalid signature")
        case .unverifiable: ofVerdict("unverifiable", "Postbacks that cannot be verified")
        case .automatic: ofClicks("Clicks that no person made", .automaticRate)
        case .early: ofClicks("Clicks before the ad was presented", .earlyRate)
        case .wrongSignatures:
            FraudSignalSource(
                title: "Wrong signatures of ads",
                count: Number(
                    dump: "bid-signatures", measure: "signatures",
                    conditions: [.init(column: "verdict", value: "invalid")]),
                rows: Rows(dump: "bid-signatures", by: ["verdict"], measure: "signatures"))
        case .unseen:
            FraudSignalSource(title: "Installs without an ad in the 30 days before")
        }
    }

    private static func ofVerdict(_ verdict: String, _ title: String) -> FraudSignalSource {
        FraudSignalSource(
            title: title,
            count: Number(
                dump: "postbacks", measure: "postbacks",
                conditions: [.init(column: "verdict", value: verdict)]),
            total: Number(dump: "postbacks", measure: "postbacks"),
            rows: Rows(dump: "postbacks", by: ["verdict"], measure: "postbacks"))
    }

    private static func ofClicks(_ title: String, _ rate: DerivedMeasure) -> FraudSignalSource {
        FraudSignalSource(
            title: title, count: Number(dump: rate.dump, measure: rate.over[0]),
            total: Number(dump: rate.dump, measure: DerivedMeasure.judgedClicks.name),
            share: Number(dump: rate.dump, measure: rate.name))
    }
}
