import EventLog
import Signatures

/// A batch of postbacks, decoded, whose signatures are being verified.
package final class PreparedPostbacks {
    /// A record with what was read of it.
    struct Item {
        var countedType: StaticString
        var event: Result<PostbackEvent, Rejection>
    }

    let batch: RecordBatch
    let items: [Item]
    /// The texts of the events.
    let bytes: [UInt8]
    private var pending: PendingAttestation?
    private var finished: [AttestationResult] = []

    init(
        batch: RecordBatch, items: [Item], bytes: [UInt8], requests: [AttestationRequest],
        attestor: Attestor
    ) {
        self.batch = batch
        self.items = items
        self.bytes = bytes
        pending = attestor.begin(requests, bytes: bytes)
    }

    /// Number of records that were decoded, each of which is given a verdict.
    var verifications: Int {
        items.count { item in
            if case .success = item.event { true } else { false }
        }
    }

    /// The result for each record that was decoded; for the others there is one without meaning.
    /// Waits for the verification.
    func results() -> [AttestationResult] {
        if let pending = pending.take() { finished = pending.finish() }
        return finished
    }
}
