import EventLog
import Foundation
import TestKit

/// A record as a producer sends it, with what it means.
struct ModelRecord<Meaning> {
    /// Decides the partition; nil for none.
    var key: [UInt8]?
    var headers: [OutgoingRecord.Header] = []
    /// Nil for a tombstone.
    var value: [UInt8]?
    /// What the contract says of it, known from how it was made; never read from the bytes.
    var meaning: Meaning
}

/// A record of the log, with its place in it.
struct LoggedMeaning<Meaning> {
    var partition: Int32
    var offset: Int64
    /// Milliseconds since 1970, as the log has it: -1 counts as 0.
    var timestampMilliseconds: Int64
    var meaning: Meaning
    /// How long ids were remembered when it was folded; nil for as long as the contract says.
    var windowMilliseconds: Int64?
}

/// What a stream should count, worked out naively: arrays and dictionaries, written from the contract and not from
/// the implementation.
protocol StreamModel {
    associatedtype Meaning
    /// Name of the stream, which is that of its topic.
    static var stream: String { get }
    /// The names of the dumps that `rows` gives all of.
    static var dumps: [String] { get }

    init()

    /// Makes the next record, aimed at the edges of the stream's rules: good ones, repetitions of what it made
    /// before, conflicts, and records that are rejected for every reason that there is.
    mutating func makeRecord(using random: inout SeededGenerator) -> ModelRecord<Meaning>

    /// The rows of the stream's dumps, once all these records are folded. They come in any order of partitions, and in
    /// order of offset within each; offsets have gaps.
    static func rows(of records: [LoggedMeaning<Meaning>]) -> ModelRows

    /// Writes the stream's file into a directory of configuration.
    static func writeConfiguration(to directory: String) throws

    /// The reasons for which no record of a run is ever rejected.
    static var unreachedReasons: Set<ContractReason> { get }
}

extension StreamModel {
    static var unreachedReasons: Set<ContractReason> { [] }

    static func writeConfiguration(to directory: String) throws {
        try "topic: \(stream)\n".write(
            toFile: "\(directory)/\(stream).yaml", atomically: false, encoding: .utf8)
    }
}

/// Rows by the name of their dump, and what was refused.
struct ModelRows {
    /// Name of a dump; of each row the values of its columns, joined in order of the contract by "|"; its measures
    /// that are not 0.
    private(set) var dumps: [String: [String: [String: Int128]]] = [:]
    /// Why records were refused, by partition and offset: the reason of a rejection, `conflict` or `untrusted`; empty
    /// for a rejection whose reason the model does not know.
    private(set) var refused: [Int32: [Int64: String]] = [:]
    /// Works out what partners are told of postbacks; nil for other streams.
    var documents: (() -> PartnerDocumentsModel)?

    /// The name of a row. Bytes beyond ASCII are written as numbers, since Swift takes texts for equal that differ in
    /// their bytes only.
    static func row(_ columns: [String]) -> String {
        var row = ""
        for byte in columns.joined(separator: "|").utf8 {
            if (0x20..<0x7F).contains(byte) {
                row.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                row += "\\\(byte)"
            }
        }
        return row
    }

    /// Adds to measures of a row.
    mutating func add(_ dump: String, _ columns: [String], _ measures: [String: Int64]) {
        let row = Self.row(columns)
        for (measure, amount) in measures where amount != 0 {
            dumps[dump, default: [:]][row, default: [:]][measure, default: 0] += Int128(amount)
        }
    }

    mutating func refuse<Meaning>(_ record: LoggedMeaning<Meaning>, _ reason: String) {
        refused[record.partition, default: [:]][record.offset] = reason
    }

    /// Offsets of the rejected records by partition, in order.
    var rejected: [Int32: [Int64]] {
        refused.mapValues { records in
            records.filter { !["conflict", "untrusted"].contains($0.value) }.keys.sorted()
        }
    }
}

/// The hour of an instant as dumps write it: `2026-11-21T05:00:00Z`.
func hourText(_ milliseconds: Int64) -> String {
    let instant = max(milliseconds, 0)
    return "\(dayText(instant))T\(padded(instant / 3_600_000 % 24, 2)):00:00Z"
}

/// An instant as documents have it: `2026-11-21T05:00:00Z`, with milliseconds when there are any.
func timeText(_ milliseconds: Int64) -> String {
    let day: Int64 = 86_400_000
    let rest = (milliseconds % day + day) % day
    let clock = [rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60].map { padded($0, 2) }
    return "\(dayText(milliseconds))T" + clock.joined(separator: ":")
        + (rest % 1000 == 0 ? "" : "." + padded(rest % 1000, 3)) + "Z"
}

/// The day of an instant, which may lie before 1970: `2026-11-21`.
func dayText(_ milliseconds: Int64) -> String {
    let day: Int64 = 86_400_000
    var days = milliseconds / day - (milliseconds % day < 0 ? 1 : 0)
    var year: Int64 = 1970
    while days < 0 {
        year -= 1
        days += daysInYear(year)
    }
    while days >= daysInYear(year) {
        days -= daysInYear(year)
        year += 1
    }
    var month = 0
    while days >= daysInMonth(month, of: year) {
        days -= daysInMonth(month, of: year)
        month += 1
    }
    return "\(padded(year, 4))-\(padded(Int64(month) + 1, 2))-\(padded(days + 1, 2))"
}

private func padded(_ number: Int64, _ width: Int) -> String {
    let text = "\(number)"
    return String(repeating: "0", count: max(0, width - text.count)) + text
}

private func daysInYear(_ year: Int64) -> Int64 { isLeap(year) ? 366 : 365 }

private func isLeap(_ year: Int64) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

private func daysInMonth(_ month: Int, of year: Int64) -> Int64 {
    month == 1 && isLeap(year) ? 29 : [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month]
}
