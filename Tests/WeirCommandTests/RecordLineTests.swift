import EventLog
import Testing

@testable import Reports
@testable import weir

@Suite("Records as lines")
struct RecordLineTests {
    private func record(_ line: String) throws -> OutgoingRecord {
        try Array(line.utf8).withUnsafeBytes { bytes in
            try RecordLine.record(bytes, topic: "t", partitionCount: 4)
        }
    }

    private func text(_ bytes: [UInt8]?) -> String? {
        bytes.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("a JSON value is taken as the very bytes of the line")
    func verbatim() throws {
        for value in [
            #"{"b": 1,"a":[1.0, 2e3 , -0],"é":"\u00e9\ud83d\ude00"}"#, "5e0", #""text""#, "false",
            "[]", "{ }", #"{"a":{"a":[[[{"a":[]}]]]}}"#, #""\ud800""#, "1e999",
            String(repeating: "[", count: 100) + String(repeating: "]", count: 100),
        ] {
            #expect(
                text(try record(#"{"key":"k", "value" : \#(value) , "headers":{}}"#).value) == value
            )
        }
    }

    @Test("the first value wins, and names are compared after unescaping")
    func duplicateMembers() throws {
        #expect(text(try record(#"{"v\u0061lue":1,"value":2}"#).value) == "1")
        #expect(try record(#"{"value":null,"value":2}"#).value == nil)
        #expect(text(try record(#"{"x":1}"#.replacing("x", with: "value")).value) == "1")
    }

    @Test("keys, headers, times and partitions are read")
    func members() throws {
        let record = try record(
            #"{"key":"k\n","timestamp_ms":-1,"partition":3,"offset":9,"headers":{"a":"b","c":null,"a":"","d":{"base64":"/w=="}},"text":"\u00e9"}"#
        )
        #expect(text(record.key) == "k\n")
        #expect(record.timestampMilliseconds == -1)
        #expect(record.partition == 3)
        #expect(record.headers.map(\.name) == ["a", "c", "a", "d"])
        #expect(record.headers.map(\.value) == [[0x62], nil, [], [0xFF]])
        #expect(text(record.value) == "é")
    }

    @Test("null means absent, and without a value the record is a tombstone")
    func nulls() throws {
        let record = try record(
            #"{"key":null,"timestamp_ms":null,"headers":null,"partition":null,"value":null,"text":null,"base64":null}"#
        )
        #expect(record.key == nil)
        #expect(record.timestampMilliseconds == nil)
        #expect(record.partition == nil)
        #expect(record.headers.isEmpty)
        #expect(record.value == nil)
        #expect(text(try self.record(#"{"value":null,"text":""}"#).value) == "")
    }

    @Test(
        "what is no record is refused with words",
        arguments: [
            ("[]", "object"), ("{", "object"), (#"{"value":1} x"#, "text after the object"),
            (#"{"value":1,}"#, "name"), (#"{"value":01}"#, "zero"), (#"{"value":tru}"#, "value"),
            (#"{"values":1}"#, "values"), (#"{"value":1,"text":"a"}"#, "give only one"),
            (#"{"text":"a","base64":""}"#, "give only one"), (#"{"text":1}"#, "text"),
            (#"{"base64":"a"}"#, "base64"), (#"{"base64":"YQ"}"#, "base64"),
            (#"{"key":1}"#, "key"), (#"{"key":"\ud800"}"#, "surrogate"),
            (#"{"key":"a","key_base64":""}"#, "give only one"),
            (#"{"timestamp_ms":"1"}"#, "timestamp_ms"), (#"{"timestamp_ms":1.5}"#, "timestamp_ms"),
            (#"{"headers":[]}"#, "headers"), (#"{"headers":{"a":1}}"#, "headers"),
            (#"{"headers":{"a":{"base64":"!"}}}"#, "headers"), (#"{"partition":4}"#, "partition"),
            (#"{"partition":-1}"#, "partition"), (#"{"offset":"x"}"#, "offset"),
            ("{\"text\":\"\u{01}\"}", "control"), (#"{"text":"\x"}"#, "escape"),
            (#"{"text":"\u12"}"#, "escape"),
        ])
    func faults(_ line: String, _ word: String) {
        #expect { try record(line) } throws: { error in
            (error as? RecordLine.Fault)?.explanation.contains(word) == true
        }
    }

    @Test("a line that is not UTF-8 is refused")
    func notUTF8() {
        let line = Array(#"{"text":""#.utf8) + [0xFF] + Array(#""}"#.utf8)
        #expect(throws: RecordLine.Fault.self) {
            try line.withUnsafeBytes { try RecordLine.record($0, topic: "t", partitionCount: 1) }
        }
    }

    @Test(
        "a value stands as JSON only where publishing it gives the same bytes",
        arguments: [
            ("{}", true), (#"{"a" : [1, 2]}"#, true), ("5", true), (#""a""#, true), ("null", false),
            (" {}", false), ("{} ", false), ("{\n}", false), ("[1,\r2]", false), ("", false),
            ("{", false), ("{}{}", false), ("[null]", true), ("nul", false),
            ("{\t}", true), ("\u{FEFF}{}", false), (#""\ud800""#, true),
        ])
    func standsAsValue(_ value: String, _ expected: Bool) {
        let stands = Array(value.utf8).withUnsafeBytes { RecordLine.standsAsValue($0) }
        #expect(stands == expected)
    }
}
