import EventLog
import Foundation
import Reports
import Store
import Streams
import TestKit

/// Where producers send records.
protocol RecordSink: AnyObject {
    func cover(_ transition: Transition)
    /// - Returns: where the record lies; nil when that was not acknowledged, and nobody knows whether it is there.
    func send(_ record: OutgoingRecord, at milliseconds: Int64) -> RecordPosition?
}

/// A topic that records are sent to, and what its stream should count of them.
protocol Feed: AnyObject {
    var stream: any StreamFold.Type { get }
    /// The program that folds it.
    var program: any SimulatedProgram { get }
    var records: Int { get }
    /// How long the stream's file says that ids are remembered; nil where it does not say it.
    var windowSeconds: Int? { get set }
    /// Writes the stream's file, with settings that the numbers do not depend on.
    func writeConfiguration(to directory: String, settings: String) throws
    /// Sends a record with a timestamp, now and then one more time, or a few at the edge of the dedupe window. Returns the
    /// newest timestamp.
    func send(to log: any RecordSink, at milliseconds: Int64) -> Int64
    /// Sends a record that was rejected again and again.
    ///
    /// - Returns: whether there is one.
    func flood(_ log: any RecordSink, count: Int, at milliseconds: Int64) -> Bool
    /// Takes for sent what lies in the topic, which has to hold all that was acknowledged, and nothing else but what was
    /// sent.
    func settle(with topic: SimulatedCluster.Topic) throws
    /// Forgets what was sent: the topic was made anew.
    func reset()
    /// What differs between stores and what the model has of the records at these offsets; nil for nothing.
    ///
    /// - Parameters:
    ///   - windows: what was in force when each partition was folded.
    ///   - refused: why the stores have refused records, by partition and offset.
    func difference(
        _ stores: OpenStores, at offsets: [Int32: Range<Int64>],
        under windows: [Int32: WindowsInForce], refused: [Int32: [Int64: String]]
    ) throws -> String?
    /// The dumps of the stream.
    var dumps: [String] { get }
    /// The reasons for which records of the stream can be rejected.
    var reasons: [String] { get }
    /// Offsets of the rejected records by partition.
    var rejected: [Int32: [Int64]] { get }
    /// Why records are refused, by partition and offset; empty for a rejection whose reason the model does not know.
    var refused: [Int32: [Int64: String]] { get }
    /// The documents for partners; nil for streams without any.
    var documents: PartnerDocumentsModel? { get }
}

final class ModelFeed<Model: StreamModel>: Feed {
    let stream: any StreamFold.Type
    let program: any SimulatedProgram
    private var model = Model()
    private var random: SeededGenerator
    var windowSeconds: Int?
    private var sent: [LoggedMeaning<Model.Meaning>] = [] {
        didSet { rowsOfSent = nil }
    }
    /// The same, as they were sent.
    private var outgoing: [OutgoingRecord] = []
    /// Kept until another record is sent.
    private var rowsOfSent: ModelRows?

    private struct Attempt {
        let record: OutgoingRecord
        let meaning: Model.Meaning
        /// Nil when it was not acknowledged.
        let position: RecordPosition?

        func isSame(as found: SimulatedCluster.Record) -> Bool {
            if found.header("weir_erased") != nil {
                return found.key == nil && found.value == nil
                    && found.header("weir_bytes") == "\(record.value?.count ?? 0)"
                    && found.header("weir_sha256")
                        == SimulatedCluster.Record.sha256(record.value ?? [])
                    && found.timestampMilliseconds == record.timestampMilliseconds
            }
            return found.key == record.key && found.value == record.value
                && found.timestampMilliseconds == record.timestampMilliseconds
        }
    }

    /// Every record that was sent, by its number.
    private var attempts: [Attempt] = []
    /// The header that has the number.
    private static var numberHeader: String { "simulation_number" }

    init<Fold: StreamFold>(stream: Fold.Type, seed: UInt64) {
        self.stream = stream
        program = FoldProgram<Fold>()
        random = SeededGenerator(seed: seed)
    }

    var records: Int { sent.count }

    var dumps: [String] { Model.dumps + ["rejected"] }

    var reasons: [String] {
        RejectionReason.allCases.map(\.name).filter { name in
            // No step of the simulation erases records.
            name != RejectionReason.erased.name
                && !Model.unreachedReasons.contains { $0.rawValue == name }
        }
    }

    func writeConfiguration(to directory: String, settings: String) throws {
        try Model.writeConfiguration(to: directory)
        let path = "\(directory)/\(Model.stream).yaml"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let window = windowSeconds.map { "dedupe_window_seconds: \($0)\n" } ?? ""
        try (text + window + settings).write(toFile: path, atomically: false, encoding: .utf8)
    }

    func send(to log: any RecordSink, at milliseconds: Int64) -> Int64 {
        if let record = outgoing.last, let last = sent.last, random.next() % 50 == 0 {
            // A producer that heard nothing sends it again.
            log.cover(.repetition)
            append(record, last.meaning, to: log, at: milliseconds)
        } else if !sent.isEmpty, let window = windowSeconds ?? stream.defaultWindowSeconds,
            random.next() % 200 == 0
        {
            return sendAtEdge(of: Int64(window) * 1000, to: log)
        } else {
            sendNew(to: log, at: milliseconds)
        }
        return milliseconds
    }

    private func sendNew(
        to log: any RecordSink, at milliseconds: Int64, partition: Int32? = nil
    ) {
        let made = model.makeRecord(using: &random)
        let record = OutgoingRecord(
            topic: Model.stream, partition: partition, key: made.key, headers: made.headers,
            value: made.value)
        append(record, made.meaning, to: log, at: milliseconds)
    }

    /// Repeats a record when another one has just moved its partition on by the window, or a millisecond less or more.
    private func sendAtEdge(
        of windowMilliseconds: Int64, to log: any RecordSink
    ) -> Int64 {
        log.cover(.edge)
        let index = sent.count - 1 - Int(random.next() % UInt64(min(sent.count, 30)))
        let old = sent[index]
        let edge = max(0, old.timestampMilliseconds) + windowMilliseconds
        let newest = edge + Int64(random.next() % 3) - 1
        sendNew(to: log, at: newest, partition: old.partition)
        var record = outgoing[index]
        record.partition = old.partition
        append(record, old.meaning, to: log, at: newest - Int64(random.next() % 2))
        return newest
    }

    func flood(_ log: any RecordSink, count: Int, at milliseconds: Int64) -> Bool {
        let rejected = rejected
        let index = sent.lastIndex { rejected[$0.partition]?.contains($0.offset) ?? false }
        guard let index else { return false }
        let (record, meaning) = (outgoing[index], sent[index].meaning)
        for _ in 0..<count { append(record, meaning, to: log, at: milliseconds) }
        return true
    }

    private func append(
        _ record: OutgoingRecord, _ meaning: Model.Meaning, to log: any RecordSink,
        at milliseconds: Int64
    ) {
        var numbered = record
        numbered.headers.append(.init(Self.numberHeader, "\(attempts.count)"))
        numbered.timestampMilliseconds = milliseconds
        let position = log.send(numbered, at: milliseconds)
        attempts.append(Attempt(record: numbered, meaning: meaning, position: position))
        guard let position else { return }
        outgoing.append(record)
        sent.append(
            LoggedMeaning(
                partition: position.partition, offset: position.offset,
                timestampMilliseconds: milliseconds, meaning: meaning))
    }

    /// An erased record has lost its number: it is known by its place, or by what is left of it.
    private func attempt(of record: SimulatedCluster.Record, at position: RecordPosition) -> Int? {
        if record.header("weir_erased") != nil {
            return attempts.firstIndex { $0.position == position }
                ?? attempts.firstIndex { $0.position == nil && $0.isSame(as: record) }
        }
        return record.header(Self.numberHeader).flatMap { Int($0) }
    }

    func settle(with topic: SimulatedCluster.Topic) throws {
        var found: Set<Int> = []
        (sent, outgoing) = ([], [])
        for (number, partition) in topic.partitions.enumerated() {
            for record in partition.records {
                let position = RecordPosition(partition: Int32(number), offset: record.offset)
                guard let attempt = attempt(of: record, at: position),
                    attempts.indices.contains(attempt),
                    attempts[attempt].position ?? position == position,
                    attempts[attempt].isSame(as: record), found.insert(attempt).inserted
                else { throw SimulationFault("\(topic.name) has another record at \(position)") }
                outgoing.append(attempts[attempt].record)
                sent.append(
                    LoggedMeaning(
                        partition: position.partition, offset: position.offset,
                        timestampMilliseconds: record.timestampMilliseconds,
                        meaning: attempts[attempt].meaning))
            }
        }
        for (number, attempt) in attempts.enumerated() where !found.contains(number) {
            guard let position = attempt.position else { continue }
            throw SimulationFault(
                "\(topic.name)/\(position.partition) lost what was acknowledged at \(position.offset)"
            )
        }
    }

    /// Of all that was sent, under the contract's own windows.
    private var rows: ModelRows {
        if let rowsOfSent { return rowsOfSent }
        let rows = Model.rows(of: sent)
        rowsOfSent = rows
        return rows
    }

    var rejected: [Int32: [Int64]] { rows.rejected }

    var refused: [Int32: [Int64: String]] { rows.refused }

    var documents: PartnerDocumentsModel? { rows.documents?() }

    func reset() {
        sent = []
        outgoing = []
        attempts = []
    }

    func difference(
        _ stores: OpenStores, at offsets: [Int32: Range<Int64>],
        under windows: [Int32: WindowsInForce], refused: [Int32: [Int64: String]]
    ) throws -> String? {
        var folded = sent.filter { offsets[$0.partition]?.contains($0.offset) ?? false }
        for index in folded.indices {
            folded[index].windowMilliseconds =
                windows[folded[index].partition]?.milliseconds(at: folded[index].offset)
        }
        let isAll =
            folded.count == sent.count && folded.allSatisfy { $0.windowMilliseconds == nil }
        let wanted = isAll ? rows : Model.rows(of: folded)
        if let difference = difference(between: refused, and: wanted.refused) { return difference }
        for name in Model.dumps {
            let expected = (wanted.dumps[name] ?? [:])
                .mapValues { $0.filter { $0.value != 0 } }.filter { !$0.value.isEmpty }
            let found = try Self.rows(of: stores.dump(ReportRequest(name: name)))
            for row in Set(expected.keys).union(found.keys).sorted()
            where expected[row] != found[row] {
                return
                    "\(name) \(row): \(Self.text(found[row])), and by the contract \(Self.text(expected[row]))"
            }
        }
        return nil
    }

    private func difference(
        between found: [Int32: [Int64: String]], and wanted: [Int32: [Int64: String]]
    ) -> String? {
        for partition in Set(found.keys).union(wanted.keys).sorted() {
            let (there, expected) = (found[partition] ?? [:], wanted[partition] ?? [:])
            for offset in Set(there.keys).union(expected.keys).sorted() {
                let (reason, rightOne) = (there[offset], expected[offset])
                if reason == rightOne { continue }
                let isRejection = ContractReason(rawValue: reason ?? "") != nil
                if rightOne == "", isRejection { continue }
                return
                    "\(Model.stream)/\(partition) at \(offset): refused as \(reason ?? "nothing"), and by the contract as \(rightOne ?? "nothing"): \(text(partition, offset))"
            }
        }
        return nil
    }

    /// The beginning of a record's value.
    private func text(_ partition: Int32, _ offset: Int64) -> String {
        let index = sent.firstIndex { $0.partition == partition && $0.offset == offset }
        guard let index, let value = outgoing[index].value else { return "no value" }
        return ModelRows.row([String(decoding: value.prefix(2000), as: UTF8.self)])
    }

    private static func text(_ measures: [String: Int128]?) -> String {
        guard let measures else { return "no row" }
        return measures.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            .joined(separator: ", ")
    }

    private static func rows(of dump: Dump) -> [String: [String: Int128]] {
        dump.rows.reduce(into: [:]) { rows, row in
            let columns = zip(dump.columns, row.columns).map { column, value in
                switch value {
                case .text(let text): text
                case .integer(let number):
                    column.kind == .boolean ? (number == 0 ? "false" : "true") : "\(number)"
                }
            }
            for (name, amount) in zip(dump.measures, row.measures) where amount != 0 {
                rows[ModelRows.row(columns), default: [:]][name] = amount
            }
        }
    }
}
