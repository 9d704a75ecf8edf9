import AggregateStore
import Streams

/// Networks' copies of postbacks against developers' copies of the same ones.
package struct Reconciliation: Sendable {
    /// A row for each group of postbacks, or for each postback.
    package let table: ReportTable
    /// What a reader should know beside the table.
    package let notices: [String]

    /// The columns that rows can be put together by, in the order in which they are sorted.
    static let columns = [
        DumpColumn("hour", .hour, isDefault: false), DumpColumn("day", .text),
        DumpColumn("ad_network_id", .text), DumpColumn("campaign", .text),
        DumpColumn("app_id", .integer),
        DumpColumn("source_app_id", .integer, isDefault: false),
        DumpColumn("sequence_index", .integer, isDefault: false),
        DumpColumn("has_source_identifier", .boolean, isDefault: false),
    ]
    /// What the question is called in errors.
    static let name = "reconcile"
}

/// What is asked of a reconciliation.
package struct ReconciliationQuery: Sendable {
    /// Columns, conditions and time: that of the first copy of a postback. Its name is not looked at.
    package var query: DumpQuery
    /// Whether there is a row for each postback, with the places of its copies.
    package var showsRecords = false
    /// Whether postbacks that match have such rows too.
    package var showsMatched = false
    /// Whether postbacks of the verdict `development` are trusted.
    package var trustsDevelopment = false

    /// Asks for a reconciliation.
    package init(query: DumpQuery = DumpQuery(name: "reconcile")) {
        self.query = query
    }
}

extension StoreSet {
    /// Sets the copies of postbacks that networks got against those that developers got.
    ///
    /// - Throws: `noStore` when there is no store of postbacks; `unknownColumn` and its like for what
    ///   cannot be asked.
    package func reconciliation(
        _ question: ReconciliationQuery
    ) throws(InspectionError) -> Reconciliation {
        var query = question.query
        query.name = Reconciliation.name
        let selection = try RowSelection(query, of: Reconciliation.columns)
        return try view(of: [PostbacksFold.streamName]) { view in
            var fold = ReconciliationFold(
                question, selection, watermarkMilliseconds: view.postbacksWatermark ?? 0)
            for copy in view.copies { try fold.add(copy) }
            return fold.reconciliation
        }
    }
}
