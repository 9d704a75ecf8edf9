import EventLog
import JSONReader

/// Apple's "verifyReceipt": `responseBody`, which an operator feeds in.
extension StoreNotificationDecoder {
    /// Decodes a receipt of a known bundle: what it counts are the cancellations of one line, which
    /// the record's key names.
    func receipt(
        _ value: JSONValue, of record: RecordView
    ) throws(NotificationRefusal) -> StoreNotificationEvent {
        let receipt = value.member("receipt")
        // Receipts of single transactions say `bid`.
        let named = receipt?.member("bundle_id") ?? receipt?.member("bid")
        guard let bundleID = named?.string, trust.app(bundleID) != nil else {
            throw .untrusted("receipt.bundle_id", "is none of the configured bundles")
        }
        let environment = try allowed(value.member("environment"))
        let line: Int64? =
            if let key = record.key, case .number(let number) = Digits(key) { number } else { nil }
        let transactions =
            listedTransactions(value, "latest_receipt_info")
            + listedTransactions(value, "latest_expired_receipt_info")
            + (receipt.map { listedTransactions($0, "in_app") } ?? [])

        idBuilder.begin()
        idBuilder.add("appstore.receipt")
        if let key = record.key { idBuilder.add(key) }
        if let bytes = record.value { idBuilder.add(bytes) }
        return StoreNotificationEvent(
            id: idBuilder.finish(), environment: environment, bundleID: keep(bundleID),
            effect: .cancellations(
                cancellations(
                    among: transactions.filter {
                        line != nil && $0.originalTransactionID == line
                    })))
    }
}
