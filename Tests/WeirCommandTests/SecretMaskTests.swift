import Engine
import EventLog
import Foundation
import History
import Program
import TestKit
import Testing

@testable import Reports
@testable import weir

@Suite("Secrets of store notifications")
struct SecretMaskTests {
    private func masked(_ text: String) -> String? {
        masked(Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) }
    }

    private func masked(_ bytes: [UInt8]) -> [UInt8]? {
        bytes.withUnsafeBytes { SecretMask.masked($0) }
    }

    @Test("every password and receipt is hidden at any depth, and nothing else is touched")
    func everyDepth() {
        #expect(
            masked(#"{"password":"s3cret", "bid" : "a"}"#) == #"{"password":"***", "bid" : "a"}"#)
        #expect(
            masked(#" {"a":[{"unified_receipt":{"latest_receipt":"bWlt","status":0}}],"b":1e0} "#)
                == #" {"a":[{"unified_receipt":{"latest_receipt":"***","status":0}}],"b":1e0} "#)
        #expect(
            masked(#"{"receipt-data":"x","latest_expired_receipt":"y","password" : "z"}"#)
                == #"{"receipt-data":"***","latest_expired_receipt":"***","password" : "***"}"#)
    }

    @Test("duplicates and escaped names are hidden, whatever the type of the value")
    func hiddenForms() {
        #expect(
            masked(#"{"password":1,"password":null,"password":{"password":"x"},"password":["y"]}"#)
                == #"{"password":"***","password":"***","password":"***","password":"***"}"#)
        #expect(
            masked(#"{"\u0070ass\u0077or\u0064":true,"\u006Catest_\u005freceipt":"x"}"#)
                == #"{"\u0070ass\u0077or\u0064":"***","\u006Catest_\u005freceipt":"x"}"#)
        #expect(
            masked(#"{"\u006Catest\u005Freceipt":"}\",{"}"#)
                == #"{"\u006Catest\u005Freceipt":"***"}"#)
    }

    @Test("names that only resemble them, values and signed payloads stay")
    func untouched() {
        for text in [
            #"{"signedPayload":"eyJ.eyJ.password"}"#, #"{"latest_receipt_info":[{"a":"1"}]}"#,
            #"{"bid":"password","x":["latest_receipt"]}"#, #"{"passwords":1,"Receipt":2}"#, "{}",
            "\"password\"", "1", "", "plain text", #"{"a":"{no secret}"}"#,
        ] {
            #expect(masked(text) == nil)
        }
    }

    @Test("a notification that is wrapped as a text is hidden as a whole")
    func wrapped() {
        #expect(
            masked(#"{"Message":" {\"password\":\"s\"}","id":1}"#) == #"{"Message":"***","id":1}"#)
        #expect(masked(#""{\"latest_receipt\":1}""#) == #""***""#)
        #expect(masked(#"["{\"\\u0070assword\":1}"]"#) == #"["***"]"#)
    }

    @Test("what is no JSON is hidden as a whole when a secret may be in it")
    func notJSON() {
        for text in [
            #"{"password":"s3cret""#, "password=s3cret", "PassWord", #"{"\u0070assword":"x","#,
            #"{"a":1}{"receipt-data":"x"}"#, "\u{FEFF}{\"password\":1}", "receipt",
        ] {
            #expect(masked(text) == "***")
        }
        #expect(
            masked(Array("{\"password\":\"".utf8) + [0xFF] + Array("\"}".utf8)) == Array("***".utf8)
        )
        let wide: [UInt8] = "{\"password\":1}".utf8.flatMap { [$0, 0] as [UInt8] }
        #expect(masked(wide) == Array("***".utf8))
        #expect(masked([0xFF, 0xFE]) == nil)
    }

    @Test("brackets without end and long bodies cost no more than their length")
    func large() {
        let deep = String(repeating: "[", count: 200_000) + String(repeating: "]", count: 200_000)
        #expect(
            masked("{\"password\":\(deep),\"a\":\(deep)}") == "{\"password\":\"***\",\"a\":\(deep)}"
        )
        let wide = String(repeating: #"{"password":"x"},"#, count: 20_000)
        let expected = String(repeating: #"{"password":"***"},"#, count: 20_000)
        #expect(masked("[\(wide)0]") == "[\(expected)0]")
    }

    /// What `weir read` prints of a topic with one record.
    private func read(
        _ topic: String, type: String?, format: RecordFormat = .ndjson, isUnmasked: Bool = false,
        value: String = #"{"password":"s3cret","bid":"b"}"#
    ) throws -> String {
        let workspace = try TemporaryDirectory()
        let log = try workspace.log(topic, partitions: 1)
        let headers = type.map { #""headers":{"ce_type":"\#($0)"},"# } ?? ""
        let line = #"{"key":"k","timestamp_ms":0,\#(headers)"value":\#(value)}"#
        #expect(try workspace.publish(Array(line.utf8), to: topic, in: log) == 1)
        let file = try workspace.write("", to: "out")
        let descriptor = open(file, O_WRONLY)
        defer { close(descriptor) }
        let output = BufferedOutput(fileDescriptor: descriptor)
        var options = MaskOptions()
        options.unmasked = isUnmasked
        let printer = try RecordPrinter(output, format: format, mask: options.mask(topic: topic))
        var reading = try TopicReading(log.reader(topic: topic), partition: nil, from: nil, to: nil)
        try reading.readRange(printer.print)
        try output.flush()
        let text = try String(contentsOfFile: file, encoding: .utf8)
        if format == .ndjson {
            #expect(try workspace.publish(Array(text.utf8), to: topic, in: log) == 1)
        }
        return text
    }

    @Test(
        "notifications and their dead letters are read masked, with a header, and can be published")
    func reading() throws {
        let masked = #""headers":{"weir_masked":"true"},"value":{"password":"***","bid":"b"}}"#
        for topic in ["store-notifications", "store-notifications.dlq"] {
            #expect(try read(topic, type: nil).hasSuffix(masked + "\n"))
        }
        let typed = try read("renamed", type: "appstore.notification.v1")
        #expect(typed.contains(#""ce_type":"appstore.notification.v1","weir_masked":"true"}"#))
        #expect(!typed.contains("s3cret"))
        let table = try read("store-notifications", type: nil, format: .table)
        #expect(table.hasSuffix(#"  (masked) {"password":"***","bid":"b"}"# + "\n"))
    }

    @Test("in a topic of any name what looks like a notification of version 1 is masked")
    func otherTopics() throws {
        for topic in ["renamed", "renamed.dlq"] {
            for value in [
                #"{"password":"s3cret","notification_type":"CANCEL"}"#,
                #"{"a":[{"notification\u005ftype":1,"\u0070assword":"s3cret"}]}"#,
                #"{"body":"{\"notification_type\":1,\"password\":\"s3cret\"}"}"#,
            ] {
                let text = try read(topic, type: nil, value: value)
                #expect(!text.contains("s3cret") && text.contains("weir_masked"), "\(value)")
            }
        }
        for value in [#"{"password":"s3cret"}"#, #"{"notification_type":"s3cret"}"#] {
            #expect(try read("renamed", type: nil, value: value).contains(value))
        }
    }

    @Test("whoever asks for it sees the bytes, and other topics are none of the mask's business")
    func unmasked() throws {
        let plain = #""value":{"password":"s3cret","bid":"b"}}"# + "\n"
        #expect(try read("store-notifications", type: nil, isUnmasked: true).hasSuffix(plain))
        #expect(try read("bids", type: "openrtb.auction").hasSuffix(plain))
        #expect(try Environment(["WEIR_UNMASKED": "1"]).isSet("WEIR_UNMASKED", option: false))
        #expect(try !Environment(["WEIR_UNMASKED": "false"]).isSet("WEIR_UNMASKED", option: false))
        #expect(try !Environment([:]).isSet("WEIR_UNMASKED", option: false))
        #expect(throws: UsageError.self) {
            try Environment(["WEIR_UNMASKED": "maybe"]).isSet("WEIR_UNMASKED", option: false)
        }
    }
}
