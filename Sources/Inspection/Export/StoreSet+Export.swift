import AggregateStore
import JSONReader
import Pipelines
import Streams

/// What an export of postbacks left out.
package struct ExportOmissions: Equatable, Sendable {
    /// Postbacks of AdAttributionKit, which the profiles have no columns for.
    package internal(set) var adAttributionKit: Int
    /// Postbacks that arrived at another time than was asked for.
    package internal(set) var otherTimes: Int

    /// Counts what was left out.
    package init(adAttributionKit: Int = 0, otherTimes: Int = 0) {
        self.adAttributionKit = adAttributionKit
        self.otherTimes = otherTimes
    }
}

/// What is asked of an export.
package struct ExportQuery: Sendable {
    /// Whose column names it has.
    package var profile: ExportProfile
    /// Only what this partner got; nil for what any partner got.
    package var partner: String?
    /// Only postbacks that arrived at this time or later; milliseconds since 1970.
    package var sinceMilliseconds: Int64?
    /// Only postbacks that arrived before this time.
    package var untilMilliseconds: Int64?

    /// Asks for an export.
    package init(
        profile: ExportProfile, partner: String? = nil, sinceMilliseconds: Int64? = nil,
        untilMilliseconds: Int64? = nil
    ) {
        self.profile = profile
        self.partner = partner
        self.sinceMilliseconds = sinceMilliseconds
        self.untilMilliseconds = untilMilliseconds
    }

    func includes(timeMilliseconds: Int64) -> Bool {
        timeMilliseconds >= sinceMilliseconds ?? .min
            && untilMilliseconds.map { timeMilliseconds < $0 } ?? true
    }
}

extension StoreSet {
    /// Writes the decoded postbacks of SKAdNetwork that partners got, one row a postback: its best copy,
    /// with the names that the catalog has today. By partition and offset; each piece of the text, which
    /// is UTF-8, is handed over before the rows behind it are read.
    ///
    /// - Parameter isRaw: whether CSV has every text as it is.
    /// - Returns: how many rows there are, and what was left out.
    /// - Throws: `InspectionError`, `noStore` when there is no store of postbacks; what `sink` throws.
    package func export(
        _ query: ExportQuery, catalog: Catalog, as format: ExportFormat,
        isRaw: Bool = false, to sink: ([UInt8]) throws -> Void
    ) throws -> (rowCount: Int, omissions: ExportOmissions) {
        let columns = query.profile.columns
        let lines = ReportLines(columns: columns.map(\.name), as: format.lines(isRaw: isRaw))
        var piece = lines.header
        var rowCount = 0
        var omissions = ExportOmissions()
        var sinkError: (any Error)?
        do {
            try view(of: [PostbacksFold.streamName]) { view in
                try view.forEachExported(query, catalog, &omissions) { postback in
                    lines.append(columns.map { $0.value(postback) }, to: &piece)
                    rowCount += 1
                    guard piece.count >= TextPieces.pieceBytes else { return }
                    do {
                        try sink(piece)
                    } catch {
                        sinkError = error
                        throw error
                    }
                    piece.removeAll(keepingCapacity: true)
                }
            }
        } catch {
            throw sinkError ?? error
        }
        try sink(piece)
        return (rowCount, omissions)
    }
}

extension StoreView {
    /// Calls `body` with each postback that is asked for, by partition and offset, and counts those that
    /// are left out.
    fileprivate func forEachExported(
        _ query: ExportQuery, _ catalog: Catalog, _ omissions: inout ExportOmissions,
        _ body: (ExportedPostback) throws -> Void
    ) throws {
        let copies = copies.flatMap { copy in
            copy.partitions.map { ($0.partition, copy.snapshot) }
        }
        guard let parser = JSONParser() else {
            throw StoreError.backend(
                operation: "read", path: "outbox", detail: "no memory for a JSON parser")
        }
        for (partition, snapshot) in copies.sorted(by: { $0.0 < $1.0 }) {
            try snapshot.forEachPublishedPostback(of: partition, partner: query.partner) {
                published in
                let bytes = Array(published.document.utf8)
                let postback = try bytes.withUnsafeBytes { bytes in
                    ExportedPostback(published, bytes, try parser.parse(bytes), catalog)
                }
                guard let postback else {
                    omissions.adAttributionKit += 1
                    return
                }
                guard query.includes(timeMilliseconds: postback.receivedMilliseconds) else {
                    omissions.otherTimes += 1
                    return
                }
                try body(postback)
            }
        }
    }
}
