import Streams

/// The number of a dump that a count of fraud signals equals.
package struct SignalSource: Sendable {
    package let dump: String
    package let measure: String
    package let conditions: [ReportRequest.Condition]

    private init(_ dump: String, _ measure: String, verdict: String? = nil) {
        self.dump = dump
        self.measure = measure
        conditions = verdict.map { [.init(column: "verdict", value: $0)] } ?? []
    }

    /// - Parameter column: `count` or `of`.
    /// - Returns: nil if the number is not a sum of one dump.
    package init?(of signal: String, _ column: String) {
        let clicks = OverlayClicksKey.table.name
        switch (FraudSignals.Signal(rawValue: signal), column) {
        case (.invalid, "count"): self.init(postbacks: "invalid")
        case (.unverifiable, "count"): self.init(postbacks: "unverifiable")
        case (.invalid, "of"), (.unverifiable, "of"): self.init(postbacks: nil)
        case (.automatic, "count"): self.init(clicks, "automatic_clicks")
        case (.early, "count"): self.init(clicks, "early")
        case (.wrongSignatures, "count"):
            self.init(
                BidSignaturesKey.table.name, "signatures",
                verdict: AdSignatureVerdict.invalid.text)
        default: return nil
        }
    }

    private init(postbacks verdict: String?) {
        self.init(PostbacksKey.table.name, "postbacks", verdict: verdict)
    }
}
