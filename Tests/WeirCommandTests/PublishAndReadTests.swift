import EmbeddedLog
import Engine
import EventLog
import Foundation
import History
import Program
import TestKit
import Testing

@testable import weir

@Suite("Publishing and reading")
struct PublishAndReadTests {
    /// Values, keys and headers that are easily bent on the way.
    private static let nasty: [OutgoingRecord] = {
        let values: [[UInt8]?] =
            [
                nil, [], [0xFF, 0x00], [0x0A], [0xEF, 0xBB, 0xBF], Array("null".utf8),
                Array("é\u{2028}\"\\\u{7F}\u{01}".utf8), Array(" {}".utf8), Array("{}".utf8),
                Array("{\"a\": 1.0,\"a\":2}".utf8), Array("[1,\n2]".utf8), Array("1e999".utf8),
                Array("\"\\ud800\"".utf8), Array("{\"a\":".utf8), Array("\r".utf8),
                Array(repeating: UInt8(ascii: "["), count: 200),
                Array("{\"a\":\"\(String(repeating: "x", count: 2_000_000))\"}".utf8),
            ]
        let keys: [[UInt8]?] = [
            nil, [], Array("k".utf8), [0xC3, 0x28], Array("a\"b\n\u{00}".utf8),
        ]
        return values.enumerated().flatMap { index, value in
            keys.enumerated().map { index, key in
                OutgoingRecord(
                    topic: "t", partition: Int32((index + index) % 2),
                    timestampMilliseconds: Int64(index * 1000 - 1), key: key,
                    headers: index == 0
                        ? []
                        : [
                            .init(name: "a\"é", value: value), .init("b", ""),
                            .init(name: "a\"é", value: [0xFE]), .init(name: "", value: nil),
                        ],
                    value: value)
            }
        }
    }()

    @Test("publishing what was read gives the same records, byte for byte")
    func roundTrip() throws {
        let workspace = try TemporaryDirectory()
        let log = try workspace.log()
        try log.writer().append(Self.nasty)
        let lines = try workspace.read(in: log)
        let text = String(decoding: lines, as: UTF8.self)
        #expect(text.contains("\\u2028") && !text.unicodeScalars.contains("\u{2028}"))
        try log.createTopic("copy", partitionCount: 2)
        #expect(try workspace.publish(lines, to: "copy", in: log) == Self.nasty.count)
        #expect(try records(of: "copy", in: log) == records(of: "t", in: log))
        #expect(try workspace.read("copy", in: log) == lines)
    }

    /// Everything of a topic's records, in order.
    private func records(of topic: String, in log: EmbeddedLog) throws -> [[[UInt8]?]] {
        var records: [[[UInt8]?]] = []
        var reading = try TopicReading(log.reader(topic: topic), partition: nil, from: nil, to: nil)
        try reading.readRange { record in
            let workspace = "\(record.partition) \(record.offset) \(record.timestampMilliseconds)"
            records.append([
                Array(workspace.utf8), record.key.map(Array.init), record.headers.encodedBytes(),
                record.value.map(Array.init),
            ])
        }
        return records
    }

    @Test("records before a bad line are durable, later ones are not there")
    func badLine() throws {
        let workspace = try TemporaryDirectory()
        let log = try workspace.log()
        let lines = "{\"key\":\"a\",\"value\":1}\r\n\n{\"value\":2}\n{\"vaule\":3}\n{\"value\":4}\n"
        #expect { try workspace.publish(Array(lines.utf8), in: log) } throws: { error in
            let words = (error as? CommandError)?.explanation ?? ""
            return words.contains("lines.ndjson:4: ") && words.contains("2 earlier records are in ")
                && (error as? CommandError)?.exitCode == 1
        }
        #expect(
            try records(of: "t", in: log).compactMap { $0[3] }.sorted { $0[0] < $1[0] } == [
                [0x31], [0x32],
            ])
    }

    @Test("a byte order mark before the first line is skipped, and one in a value is kept")
    func byteOrderMark() throws {
        let workspace = try TemporaryDirectory()
        let log = try workspace.log(partitions: 1)
        let lines = "\u{FEFF}{\"key\":\"a\",\"text\":\"\u{FEFF}1\"}\n"
        #expect(try workspace.publish(Array(lines.utf8), in: log) == 1)
        #expect(try records(of: "t", in: log).map { $0[3] ?? [] } == [Array("\u{FEFF}1".utf8)])
        let file = try workspace.write("\u{FEFF}{}", to: "document.json")
        #expect(try InputFile.contents(of: file) == Array("{}".utf8))
    }

    @Test("many lines are published in order, whatever the pieces that they are read in")
    func manyLines() throws {
        let workspace = try TemporaryDirectory()
        let log = try workspace.log(partitions: 1)
        let padding = String(repeating: "x", count: 997)
        let lines = (0..<12_345).map { #"{"key":"k","value":"\#($0) \#(padding)"}"# }
        #expect(try workspace.publish(Array(lines.joined(separator: "\n").utf8), in: log) == 12_345)
        let values = try records(of: "t", in: log).map { $0[3] ?? [] }
        #expect(values.count == 12_345)
        #expect(
            values.enumerated().allSatisfy { index, value in value.starts(with: "\"\(index) ".utf8)
            })
    }

    @Test("a stretch is chosen by offset and by time")
    func stretches() throws {
        let workspace = try TemporaryDirectory()
        let log = try workspace.log(partitions: 2)
        let lines = (0..<10).map {
            #"{"partition":\#($0 % 2),"timestamp_ms":\#($0 * 1000),"value":\#($0)}"#
        }
        _ = try workspace.publish(Array(lines.joined(separator: "\n").utf8), in: log)
        func values(_ partition: Int32?, _ from: ReadLimit?, _ to: ReadLimit?) throws -> [String] {
            let text = String(
                decoding: try workspace.read(in: log, partition: partition, from: from, to: to),
                as: UTF8.self)
            return text.split(separator: "\n").map { String($0.dropLast().suffix(1)) }
        }
        #expect(try values(nil, nil, nil) == ["0", "2", "4", "6", "8", "1", "3", "5", "7", "9"])
        #expect(try values(1, .offset(3), nil) == ["7", "9"])
        #expect(try values(nil, .time(4000), .time(7000)) == ["4", "6", "5"])
        #expect(try values(0, .offset(1), .offset(3)) == ["2", "4"])
        #expect(try values(0, .offset(99), nil).isEmpty)
        #expect(throws: LogError.self) { try values(2, nil, nil) }
    }

    @Test("limits are offsets or times")
    func limits() throws {
        #expect(try ReadLimit("12", option: "--from") == .offset(12))
        #expect(try ReadLimit("1970-01-02", option: "--from") == .time(86_400_000))
        #expect(try ReadLimit("1970-01-01T00:00:01Z", option: "--from") == .time(1000))
        for text in ["-1", "x", "", "2026-13-01"] {
            #expect(throws: CommandError.self) { try ReadLimit(text, option: "--from") }
        }
    }

    @Test(
        "an offset that no record has reached is said to be one, since a time may have been meant")
    func doubtfulOffset() throws {
        let workspace = try TemporaryDirectory()
        let log = try workspace.log(partitions: 2)
        _ = try workspace.publish(Array("{\"partition\":1,\"value\":1}".utf8), in: log)
        func doubt(_ from: ReadLimit) throws -> String? {
            let reading = try TopicReading(
                log.reader(topic: "t"), partition: nil, from: from, to: nil)
            return from.doubt(topic: "t", endOffset: reading.endOffset)
        }
        let explanation = try #require(try doubt(.offset(1_795_140_000)))
        #expect(
            explanation.hasPrefix(
                "--from 1795140000 means an offset, but t ends at offset 1. "))
        // The end itself is where those begin who follow.
        #expect(try doubt(.offset(1)) == nil)
        #expect(try doubt(.time(1_795_140_000_000)) == nil)
    }

    @Test("short lines for people show what cannot be shown as escapes, and cut what is long")
    func table() throws {
        let workspace = try TemporaryDirectory()
        let log = try workspace.log(partitions: 1)
        let long = String(repeating: "y", count: 300)
        _ = try workspace.publish(
            Array(
                #"{"key":"\u001b[2J","timestamp_ms":0,"headers":{"ce_type":"t1"},"text":"\#(long)"}"#
                    .utf8), in: log)
        let file = try workspace.write("", to: "out")
        let descriptor = open(file, O_WRONLY)
        let output = BufferedOutput(fileDescriptor: descriptor)
        let printer = try RecordPrinter(output, format: .table, mask: nil)
        var reading = try TopicReading(log.reader(topic: "t"), partition: nil, from: nil, to: nil)
        try reading.readRange(printer.print)
        try output.flush()
        close(descriptor)
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        try #require(lines.count == 2)
        #expect(lines[1].contains("1970-01-01T00:00:00Z"))
        #expect(lines[1].contains(#"\u{1B}[2J"#))
        #expect(lines[1].contains("  t1  "))
        #expect(lines[1].hasSuffix("yyy…"))
        #expect(lines[1].count < 250)
    }

    @Test("a reader that went away ends the output quietly")
    func closedPipe() throws {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        close(ends[0])
        let output = BufferedOutput(fileDescriptor: ends[1])
        defer { close(ends[1]) }
        #expect(throws: CommandError.outputClosed) {
            try output.write("text")
            try output.flush()
        }
        #expect(CommandError.outputClosed.exitCode == 0)
        #expect(CommandError.outputClosed.explanation == nil)
    }
}
