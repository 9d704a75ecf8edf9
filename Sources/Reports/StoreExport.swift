import ConfigurationValues
import JSON
import Store
import Streams
import Wording

/// The numbers of postbacks that an export left out.
package struct ExportOmissions: Equatable, Sendable {
    /// Postbacks of AdAttributionKit, if the profile does not have columns for them.
    package internal(set) var adAttributionKit: Int
    /// Postbacks that arrived outside the selected time range.
    package internal(set) var otherTimes: Int
    /// Postbacks in an earlier export with an unpublished current best copy, if the profile cannot mark them.
    package internal(set) var withdrawn: Int
    /// Postbacks with a signature that matches no production key, if the profile cannot mark them.
    package internal(set) var unproven: Int

    package init(
        adAttributionKit: Int = 0, otherTimes: Int = 0, withdrawn: Int = 0, unproven: Int = 0
    ) {
        self.withdrawn = withdrawn
        self.unproven = unproven
        self.adAttributionKit = adAttributionKit
        self.otherTimes = otherTimes
    }
}

/// The postbacks to export, and the output options.
package struct ExportQuery: Sendable {
    package var profile: ExportProfile
    /// Only documents sent to this partner; nil for all accepted postbacks.
    package var partner: String?
    /// Only postbacks that arrived at this time or later; milliseconds since 1970.
    package var sinceMilliseconds: Int64?
    package var untilMilliseconds: Int64?
    /// Only postbacks with a new best copy since this cursor; nil for all.
    package var changedSince: ExportCursor?

    package init(
        profile: ExportProfile, partner: String? = nil, sinceMilliseconds: Int64? = nil,
        untilMilliseconds: Int64? = nil, changedSince: ExportCursor? = nil
    ) {
        self.changedSince = changedSince
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

/// The records that postbacks were decoded from. `History` implements it.
package protocol PostbackLog {
    /// Starts reading the log that a store was folded from.
    func reading(_ snapshot: StoreSnapshot) throws -> any PostbackReading
    /// The error for records that the log no longer contains.
    func error(ofGone records: [GoneRecords]) -> any Error
}

/// Offsets of a partition that the log no longer contains.
package struct GoneRecords: Equatable, Sendable {
    package let topic: String
    package let partition: Int32
    package let offsets: Range<Int64>

    package init(topic: String, partition: Int32, offsets: Range<Int64>) {
        self.topic = topic
        self.partition = partition
        self.offsets = offsets
    }
}

/// Reads documents of accepted postbacks from the log that one store was folded from.
package protocol PostbackReading {
    /// The missing offsets from `offset` up to the beginning of the log; nil when the log contains `offset`. Called
    /// before anything is read.
    func gone(partition: Int32, from offset: Int64) throws -> Range<Int64>?
    /// Calls `body` with the document of each of some accepted copies, in order.
    ///
    /// - Parameter offsets: of the copies, in order.
    /// - Throws: when a copy is missing or differs from the accepted one; errors of `body`.
    func forEachDocument(
        partition: Int32, offsets: [Int64], _ body: (PartnerPostback) throws -> Void) throws
}

/// The result of an export.
package struct WrittenExport: Sendable {
    package internal(set) var rowCount = 0
    package internal(set) var omissions = ExportOmissions()
    /// The start of the next export of changes.
    package let cursor: ExportCursor
    /// The number of accepted records of postbacks in the stores, including each better copy; nil for a partner's
    /// documents.
    package let acceptedRecords: Int64?
    /// The number of these that were replaced by a better copy.
    package let replacedRecords: Int64

    package init(
        rowCount: Int = 0, omissions: ExportOmissions = ExportOmissions(), cursor: ExportCursor,
        acceptedRecords: Int64?, replacedRecords: Int64 = 0
    ) {
        self.rowCount = rowCount
        self.omissions = omissions
        self.cursor = cursor
        self.acceptedRecords = acceptedRecords
        self.replacedRecords = replacedRecords
    }
}

extension OpenStores {
    /// Writes decoded postbacks by partition and offset: all accepted ones, or those sent to a partner. A postback has
    /// one row, from its best copy, with the catalog's current names. Text is UTF-8. Each piece is handed over before
    /// later rows are read.
    ///
    /// - Parameters:
    ///   - log: the records that the stores were folded from; not read for a partner's documents, which the stores
    ///     contain.
    ///   - isRaw: whether CSV texts are written unchanged.
    /// - Throws: `InspectionError`; `noStore` without a store of postbacks; `staleCursor` when the stores no longer
    ///   match the earlier export; `incompleteExport` when a postback is missing; errors of `log` and `sink`.
    package func export(
        _ query: ExportQuery, catalog: Catalog, log: any PostbackLog, as format: ExportFormat,
        isRaw: Bool = false, to sink: ([UInt8]) throws -> Void
    ) throws -> WrittenExport {
        let columns = query.profile.columns
        var writer = RowWriter(
            columns.map(\.name), as: format == .csv ? .csv(isRaw: isRaw) : .lines)
        // Errors of the output or the log are not errors of the store.
        var otherFault: (any Error)?
        let written: WrittenExport
        do {
            written = try view(of: [PostbacksFold.streamName]) { view in
                try query.changedSince?.check(view.slices, of: query)
                let counts = query.partner == nil ? try view.acceptedPostbacks() : nil
                var written = WrittenExport(
                    cursor: try ExportCursor(view.slices, of: query),
                    acceptedRecords: counts?.records,
                    replacedRecords: counts.map { $0.records - $0.postbacks } ?? 0)
                do {
                    written.omissions = try view.forEachExported(query, catalog, log) { row in
                        writer.append(columns.map { $0.value(row) })
                        guard let piece = writer.fullPiece() else { return }
                        do { try sink(piece) } catch { otherFault = error; throw error }
                    }
                } catch let error as any OperatorError {
                    otherFault = otherFault ?? error
                    throw error
                }
                written.rowCount = writer.rowCount
                if let counts, query.changedSince == nil {
                    try written.check(against: counts.postbacks)
                }
                return written
            }
        } catch {
            throw otherFault ?? error
        }
        try sink(writer.finish())
        return written
    }
}

extension WrittenExport {
    /// Throws unless each accepted postback was written or counted as left out.
    fileprivate func check(against postbacks: Int64) throws(InspectionError) {
        let found = Int64(
            rowCount + omissions.adAttributionKit + omissions.otherTimes + omissions.unproven)
        guard found == postbacks else { throw .incompleteExport(found: found, accepted: postbacks) }
    }
}

extension StoreView {
    /// The number of accepted records of postbacks in the stores, and of distinct postbacks.
    fileprivate func acceptedPostbacks() throws -> (records: Int64, postbacks: Int64) {
        var counts: (records: Int64, postbacks: Int64) = (0, 0)
        for slice in slices {
            try slice.forEachRow(of: TableReader(OutcomeKey.time, measures: [.accepted])) {
                counts.records += $1[.accepted]
            }
            for partition in slice.numbers {
                counts.postbacks += try slice.snapshot.acceptedPostbackCount(of: partition)
            }
        }
        return counts
    }

    /// Calls `body` with each selected postback, by partition and offset.
    ///
    /// - Returns: the number left out.
    fileprivate func forEachExported(
        _ query: ExportQuery, _ catalog: Catalog, _ log: any PostbackLog,
        _ body: (ExportedRow) throws -> Void
    ) throws -> ExportOmissions {
        var omissions = ExportOmissions()
        guard let parser = JSONParser() else {
            throw StoreError.backend(
                operation: "read", path: "outbox", detail: "no memory for a JSON parser")
        }
        func add(_ published: PublishedPostback, of partition: Int32) throws {
            let bytes = Array(published.document.utf8)
            try bytes.withUnsafeBytes { bytes in
                let document = try parser.parse(bytes)
                guard let postback = ExportedPostback(published, bytes, document, catalog),
                    !postback.isJWS || query.profile.hasAdAttributionKit
                else {
                    omissions.adAttributionKit += 1
                    return
                }
                guard query.includes(timeMilliseconds: postback.receivedMilliseconds) else {
                    omissions.otherTimes += 1
                    return
                }
                try body(
                    ExportedRow(
                        partition: partition, id: published.id, postback: postback,
                        revision: published.offset))
            }
        }
        let partitions = slices.flatMap { slice in
            slice.partitions.map { (number: $0.partition, snapshot: slice.snapshot) }
        }.sorted { $0.number < $1.number }
        guard let partner = query.partner else {
            let others = try forEachAccepted(partitions, query, log, add)
            omissions.otherTimes += others.otherTimes
            omissions.unproven += others.unproven
            return omissions
        }
        for (partition, snapshot) in partitions {
            let first = query.changedSince?.nextOffset(of: partition) ?? .min
            try snapshot.forEachPublishedPostback(of: partition, from: first, partner: partner) {
                try add($0, of: partition)
            }
            // In a first export, postbacks without a row were never exported, so there is nothing to withdraw.
            guard query.changedSince != nil, first > .min else { continue }
            try snapshot.forEachWithdrawnPostback(of: partition, from: first, partner: partner) {
                id, offset in
                guard query.profile.tellsWithdrawn else {
                    omissions.withdrawn += 1
                    return
                }
                try body(
                    ExportedRow(partition: partition, id: id, postback: nil, revision: offset))
            }
        }
        return omissions
    }

    /// The number of postbacks per lookup.
    private static let postbacksAtOnce = 10_000

    /// Calls `body` with every accepted postback that the query selects, read from its record.
    ///
    /// - Returns: the number left out without reading.
    private func forEachAccepted(
        _ partitions: [(number: Int32, snapshot: StoreSnapshot)], _ query: ExportQuery,
        _ log: any PostbackLog, _ body: (PublishedPostback, _ partition: Int32) throws -> Void
    ) throws -> ExportOmissions {
        var omissions = ExportOmissions()
        func next(
            _ source: (number: Int32, snapshot: StoreSnapshot), from offset: Int64, _ count: Int
        )
            throws -> [AcceptedPostback]
        {
            try source.snapshot.acceptedPostbacks(of: source.number, from: offset, limit: count)
        }
        // Find missing records before the first row is written.
        var readings: [(reading: any PostbackReading, first: Int64)?] = []
        var gone: [GoneRecords] = []
        for source in partitions {
            let start = query.changedSince?.nextOffset(of: source.number) ?? .min
            guard let first = try next(source, from: start, 1).first?.offset else {
                readings.append(nil)
                continue
            }
            let reading = try log.reading(source.snapshot)
            if let offsets = try reading.gone(partition: source.number, from: first) {
                gone.append(
                    GoneRecords(
                        topic: source.snapshot.topic, partition: source.number, offsets: offsets))
            }
            readings.append((reading, first))
        }
        // Report all of them: an archive must supply each one.
        guard gone.isEmpty else { throw log.error(ofGone: gone) }
        for (source, opened) in zip(partitions, readings) {
            guard let (reading, first) = opened else { continue }
            var offset = first
            while true {
                let all = try next(source, from: offset, Self.postbacksAtOnce)
                guard let last = all.last else { break }
                var wanted = all.filter {
                    query.includes(timeMilliseconds: $0.timestampMilliseconds)
                }
                omissions.otherTimes += all.count - wanted.count
                if !query.profile.tellsVerdict {
                    let count = wanted.count
                    wanted.removeAll { !$0.isValid }
                    omissions.unproven += count - wanted.count
                }
                var rest = wanted[...]
                try reading.forEachDocument(
                    partition: source.number, offsets: wanted.map(\.offset)
                ) { document in
                    guard let accepted = rest.popFirst() else { return }
                    try body(PublishedPostback(accepted, document), source.number)
                }
                offset = last.offset + 1
            }
        }
        return omissions
    }
}

struct ExportedRow {
    let partition: Int32
    /// The postback's id within its partition.
    let id: [UInt8]
    /// Nil for a postback that was exported earlier and now has an unpublished best copy.
    let postback: ExportedPostback?
    /// Increases whenever the row changes: the offset of the best copy.
    let revision: Int64

    /// Identical in every export.
    var key: String { "\(partition)-\(id.hexDigits)" }
}

/// The formats of an export. Each can write a row as soon as it is read.
package enum ExportFormat: String, CaseIterable, Sendable {
    case csv
    case ndjson
}
