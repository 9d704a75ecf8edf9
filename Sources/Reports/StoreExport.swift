import ConfigurationValues
import JSON
import Store
import Streams
import Wording

/// How many postbacks an export left out.
package struct ExportOmissions: Equatable, Sendable {
    /// Postbacks of AdAttributionKit, for which the profiles have no columns.
    package internal(set) var adAttributionKit: Int
    /// Postbacks that arrived outside of the selected time.
    package internal(set) var otherTimes: Int
    /// Postbacks that were exported before, whose best copy now was not published, where the profile has no column
    /// to say so.
    package internal(set) var withdrawn: Int
    /// Postbacks whose signature no production key fits, where the profile has no column to say so.
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

/// Which postbacks to export, and how.
package struct ExportQuery: Sendable {
    package var profile: ExportProfile
    /// Only what this partner was sent; nil for all accepted postbacks.
    package var partner: String?
    /// Only postbacks that arrived at this time or later; milliseconds since 1970.
    package var sinceMilliseconds: Int64?
    package var untilMilliseconds: Int64?
    /// Only postbacks whose best copy came since; nil for all.
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

/// The records that postbacks were decoded from. `History` reads them.
package protocol PostbackLog {
    /// Begins to read the log that a store was folded from.
    func reading(_ snapshot: StoreSnapshot) throws -> any PostbackReading
    /// The error for records that the log no longer has.
    func error(ofGone records: [GoneRecords]) -> any Error
}

/// Offsets of a partition that the log no longer has.
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
    /// The offsets from one on that the log no longer has at its beginning; nil when it has that one. Asked before
    /// anything is read.
    func gone(partition: Int32, from offset: Int64) throws -> Range<Int64>?
    /// Calls `body` with the document of each of some accepted copies, in order.
    ///
    /// - Parameter offsets: of the copies, in order.
    /// - Throws: when one of them is not there as it was accepted; what `body` throws.
    func forEachDocument(
        partition: Int32, offsets: [Int64], _ body: (PartnerPostback) throws -> Void) throws
}

/// What an export has written.
package struct WrittenExport: Sendable {
    package internal(set) var rowCount = 0
    package internal(set) var omissions = ExportOmissions()
    /// Where the next export of changes begins.
    package let cursor: ExportCursor
    /// How many accepted records of postbacks the stores count, better copies each; nil for what a partner was sent.
    package let acceptedRecords: Int64?
    /// How many of these were replaced by a better copy.
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
    /// Writes decoded postbacks, by partition and offset: all that were accepted, or those that a partner was sent. A
    /// postback has one row: its best copy, with the catalog's names of today. Text is UTF-8, and
    /// each piece is handed over before later rows are read.
    ///
    /// - Parameters:
    ///   - log: the records that the stores were folded from; not read for what a partner was sent, which stores have.
    ///   - isRaw: whether CSV has every text as it is.
    /// - Throws: `InspectionError`, `noStore` when there is no store of postbacks, `staleCursor` when what was
    ///   exported before is not what the stores hold, `incompleteExport` when a postback is missing; what `log` and
    ///   `sink` throw.
    package func export(
        _ query: ExportQuery, catalog: Catalog, log: any PostbackLog, as format: ExportFormat,
        isRaw: Bool = false, to sink: ([UInt8]) throws -> Void
    ) throws -> WrittenExport {
        let columns = query.profile.columns
        var writer = RowWriter(
            columns.map(\.name), as: format == .csv ? .csv(isRaw: isRaw) : .lines)
        // What is wrong with the output or the log is not a fault of the store.
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
    /// Throws unless each accepted postback was written, or is counted among those that were left out.
    fileprivate func check(against postbacks: Int64) throws(InspectionError) {
        let found = Int64(
            rowCount + omissions.adAttributionKit + omissions.otherTimes + omissions.unproven)
        guard found == postbacks else { throw .incompleteExport(found: found, accepted: postbacks) }
    }
}

extension StoreView {
    /// How many accepted records of postbacks the stores count, and how many postbacks these are.
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
    /// - Returns: how many were left out.
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
            // Nobody has seen those of the first export.
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

    /// So many postbacks are looked up at a time.
    private static let postbacksAtOnce = 10_000

    /// Calls `body` with every accepted postback that the query does not leave out, made from its record.
    ///
    /// - Returns: how many were left out unread.
    private func forEachAccepted(
        _ partitions: [(number: Int32, snapshot: StoreSnapshot)], _ query: ExportQuery,
        _ log: any PostbackLog, _ body: (PublishedPostback, _ partition: Int32) throws -> Void
    ) throws -> ExportOmissions {
        var omissions = ExportOmissions()
        func next(
            _ place: (number: Int32, snapshot: StoreSnapshot), from offset: Int64, _ count: Int
        )
            throws -> [AcceptedPostback]
        {
            try place.snapshot.acceptedPostbacks(of: place.number, from: offset, limit: count)
        }
        // What the log no longer has is found before a row is written.
        var readings: [(reading: any PostbackReading, first: Int64)?] = []
        var gone: [GoneRecords] = []
        for place in partitions {
            let start = query.changedSince?.nextOffset(of: place.number) ?? .min
            guard let first = try next(place, from: start, 1).first?.offset else {
                readings.append(nil)
                continue
            }
            let reading = try log.reading(place.snapshot)
            if let offsets = try reading.gone(partition: place.number, from: first) {
                gone.append(
                    GoneRecords(
                        topic: place.snapshot.topic, partition: place.number, offsets: offsets))
            }
            readings.append((reading, first))
        }
        // All of them: an archive has to have every one.
        guard gone.isEmpty else { throw log.error(ofGone: gone) }
        for (place, opened) in zip(partitions, readings) {
            guard let (reading, first) = opened else { continue }
            var offset = first
            while true {
                let all = try next(place, from: offset, Self.postbacksAtOnce)
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
                    partition: place.number, offsets: wanted.map(\.offset)
                ) { document in
                    guard let accepted = rest.popFirst() else { return }
                    try body(PublishedPostback(accepted, document), place.number)
                }
                offset = last.offset + 1
            }
        }
        return omissions
    }
}

/// A row of an export.
struct ExportedRow {
    let partition: Int32
    /// Of the postback within its partition.
    let id: [UInt8]
    /// Nil for one that was exported before, and whose best copy now was not published.
    let postback: ExportedPostback?
    /// Rises whenever the row changes: the offset of the best copy.
    let revision: Int64

    /// The same in every export.
    var key: String { "\(partition)-\(id.hexDigits)" }
}

/// The formats of an export. Each writes a row as soon as it is read.
package enum ExportFormat: String, CaseIterable, Sendable {
    case csv
    case ndjson
}
