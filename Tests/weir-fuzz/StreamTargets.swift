import ConfigurationFiles
import ConfigurationValues
import EventLog
import Foundation
import JSON
import JSONComparison
import Streams
import TestKit

/// `json`
@Sendable func documents() throws -> FuzzTarget.Run {
    let comparison = JSONComparison()
    return { bytes in
        guard let found = comparison?.compare(bytes) else { return }
        try require(found.isSame, "another document than simdjson's")
    }
}

/// `headers`: the input is headers in their encoding.
@Sendable func headers() throws -> FuzzTarget.Run {
    let folding = try FoldedTwice<BidsFold>(shippedPipelines)
    let value = Array(#"{"auction_id":"a","bid_id":"b"}"#.utf8)
    return { bytes in
        let listed = list(bytes)
        var written: [UInt8] = []
        bytes.withUnsafeBytes { RecordHeaders(encoded: $0).encode(onto: &written) }
        try require(list(written) == listed, "written again, other headers")
        try bytes.withUnsafeBytes { bytes in
            let first = RecordHeaders(encoded: bytes).first(named: "ce_type").map(Array.init)
            let expected = listed.first { $0.name == Array("ce_type".utf8) }?.value
            try require(first == expected, "the first ce_type is another one")
        }
        let encoded = RecordHeaders.encode(
            listed.map { .init(name: String(decoding: $0.name, as: UTF8.self), value: $0.value) })
        if listed.allSatisfy({ String(validating: $0.name, as: UTF8.self) != nil }) {
            try require(list(encoded) == listed, "encoded from texts, other headers")
        }
        _ = try folding.fold(value, headers: bytes)
    }
}

private struct HeaderBytes: Equatable {
    let name: [UInt8]
    let value: [UInt8]?
}

private func list(_ encoded: [UInt8]) -> [HeaderBytes] {
    var listed: [HeaderBytes] = []
    encoded.withUnsafeBytes { bytes in
        RecordHeaders(encoded: bytes).forEach { name, value in
            listed.append(HeaderBytes(name: Array(name), value: value.map { Array($0) }))
            return true
        }
    }
    return listed
}

extension FuzzTarget {
    /// Records of a stream: the first byte of an input says which type the record has, the rest is its value.
    init(stream: any StreamFold.Type) {
        self.init(
            stream.streamName,
            "a record has one outcome, the same reason when it comes again, and the collector says what the worker says",
            { try stream.records() },
            samples: {
                try recordValues(of: stream.streamName).flatMap { value in
                    stream.recordTypes.indices.map { [UInt8($0)] + value }
                }
            })
    }
}

extension StreamFold {
    /// Those that a header can name, none and an unknown one.
    fileprivate static var recordTypes: [String?] {
        [nil] + Kind.allCases.map { "\($0.name)" } + ["another"]
    }

    fileprivate static func records() throws -> FuzzTarget.Run {
        let folding = try FoldedTwice<Self>(shippedPipelines)
        let types = recordTypes
        let reader = RecordKeyReader()
        let isProduced = producedStreams.contains { $0.streamName == streamName }
        return { bytes in
            guard let first = bytes.first else { return }
            let type = types[Int(first) % types.count]
            let value = Array(bytes.dropFirst())
            let reason = try folding.fold(value, type: type).rejection
            guard isProduced, let reader else { return }
            // The collector knows before what the worker says of an event, and of each part that it appends.
            let events: [KeyedEvent]
            do throws(Rejection) {
                events = try reader.events(
                    value, stream: Self.self, type: type ?? defaultType, at: FoldedTwice<Self>.now)
            } catch {
                return try require(
                    error.reason.name == reason,
                    "the collector says \(error.reason.name), the worker \(reason ?? "nothing")")
            }
            for event in events {
                let refusal =
                    if let part = event.value {
                        try folding.fold(part, type: type).rejection
                    } else { reason }
                try require(
                    refusal == nil, "the collector takes what the worker calls \(refusal ?? "")")
            }
        }
    }
}

/// The configuration of the demo.
var shippedPipelines: PipelineDirectory { PipelineDirectory(Repository.path("pipelines")) }

/// The values of the records in a stream's fixtures.
@Sendable func recordValues(of stream: String) throws -> [[UInt8]] {
    try fixtureRecords(of: stream).compactMap { record in
        switch record["value"] ?? record["text"] {
        case let text as String: Array(text.utf8)
        case let value?: try json(value)
        case nil: nil
        }
    }
}

func fixtureRecords(of stream: String) throws -> [[String: Any]] {
    try Repository.files(in: "Tests/Fixtures/\(stream)", endingIn: ".json").flatMap { file in
        let fixture = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
        return (fixture as? [String: Any])?["records"] as? [[String: Any]] ?? []
    }
}

func json(_ value: Any) throws -> [UInt8] {
    Array(
        try JSONSerialization.data(
            withJSONObject: value,
            options: [.sortedKeys, .withoutEscapingSlashes, .fragmentsAllowed]))
}

/// A fold that is given each record twice.
final class FoldedTwice<Fold: StreamFold> {
    struct Outcome {
        /// Why the record is not counted, the same for both; nil where it is.
        var rejection: String?
        /// How many of the two are kept as refused.
        var refused: Int
    }

    static var now: Int64 { 1_795_219_200_000 }

    private let rules: Fold.Rules
    private var fold: Fold
    private var runs = 0
    private let batch = RecordBatch()

    init(_ pipelines: PipelineDirectory) throws {
        rules = try Fold.rules(in: pipelines)
        fold = try Self.make(rules)
    }

    private static func make(_ rules: Fold.Rules) throws -> Fold {
        try Fold.make(rules, topic: Fold.streamName, memory: NothingRemembered(), threadCount: 1)
    }

    func fold(_ value: [UInt8], type: String?) throws -> Outcome {
        try fold(value, headers: type.map { RecordHeaders.encode([.init("ce_type", $0)]) } ?? [])
    }

    /// Throws a contradiction, or what the fold throws.
    func fold(_ value: [UInt8], headers: [UInt8]) throws -> Outcome {
        batch.removeAll()
        value.withUnsafeBytes { value in
            headers.withUnsafeBytes { headers in
                for offset in 0..<2 {
                    batch.append(
                        partition: 0, offset: Int64(offset), timestampMilliseconds: Self.now,
                        key: nil, headers: headers, value: value)
                }
            }
        }
        let prepared = fold.prepare(batch)
        for index in 0..<batch.count { try fold.fold(index, of: prepared) }
        let effects = fold.effects
        let rejected = effects.refused.filter { RefusedRecord.isRejection($0.reason) }
        try require(
            effects.progress.map(\.records).reduce(0, +) == 2, "records without an outcome")
        try require(rejected.count != 1 || rejected[0].index == 1, "a record rejected once only")
        if rejected.count == 2 {
            try require(
                rejected[0].reason == rejected[1].reason
                    && rejected[0].detail == rejected[1].detail,
                "one record, two reasons")
        }
        fold.clear()
        runs += 1
        // What was accepted is remembered.
        if runs % 20_000 == 0 { fold = try Self.make(rules) }
        return Outcome(
            rejection: rejected.count == 2 ? rejected[0].reason : nil,
            refused: effects.refused.count)
    }
}

/// A store that has nothing yet.
private final class NothingRemembered: FoldMemory {
    func row(of table: MemoryTable, partition: Int32, key: MemoryValue) -> [MemoryValue]? { nil }
    func windowEntries(of partition: Int32) -> [DedupeWindow.Entry] { [] }
}
