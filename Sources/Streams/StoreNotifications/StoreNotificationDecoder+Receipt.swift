import EventLog
import JSON

/// Apple's "verifyReceipt": `responseBody`, which an operator feeds in.
extension StoreNotificationDecoder {
    /// Decodes a receipt of a known bundle: what it counts are the cancellations of one line, which
    /// the record's key names.
    func receipt(
        _ value: JSONValue, of record: RecordView
    ) throws(NotificationRefusal) -> StoreNotificationEvent {
        let receipt = value.member("receipt")
        // Receipts of single transactions say `bid`.
        let bundle = Self.firstText([receipt?.member("bundle_id"), receipt?.member("bid")])
        guard let bundleID = bundle, trust.app(bundleID) != nil else {
            throw .untrusted("receipt.bundle_id", "is none of the configured bundles")
        }
        // Responses for receipts of iOS 6 name none, and are of the App Store.
        let name = faults.optionalText(value, "environment").flatMap { $0.isEmpty ? nil : $0 }
        let environment = name.map { AppStoreEnvironment(ofVersion1: $0) } ?? .production
        guard let environment, trust.environments.contains(environment) else {
            throw .untrusted("environment", "is none that the pipeline allows")
        }
        // Without a key it names no line, and has no id.
        let key = record.key.flatMap { $0.isEmpty ? nil : $0 } ?? faults.missing("the record's key")
        let line = TransactionID(key)
        let transactions =
            listedTransactions(value, "latest_receipt_info")
            + listedTransactions(value, "latest_expired_receipt_info")
            + (receipt.map { listedTransactions($0, "in_app") } ?? [])

        idBuilder.begin()
        idBuilder.add("appstore.receipt")
        idBuilder.add(key)
        if let bytes = record.value { idBuilder.add(bytes) }
        return StoreNotificationEvent(
            id: idBuilder.finish(), environment: environment, bundleID: keep(bundleID),
            effect: .cancellations(
                cancellations(
                    among: transactions.filter { $0.originalTransactionID == line })))
    }
}
