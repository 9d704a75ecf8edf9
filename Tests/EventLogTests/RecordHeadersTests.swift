import EventLog
import Testing

@Suite("RecordHeaders")
struct RecordHeadersTests {
    @Test("gives names and values in order, and finds the first of a name")
    func readsWhatWasEncoded() {
        let encoded = RecordHeaders.encode([
            .init("ce_type", "openrtb.win"), .init(name: "none", value: nil),
            .init(name: "", value: []), .init("ce_type", "second"),
        ])
        encoded.withUnsafeBytes { bytes in
            let headers = RecordHeaders(encoded: bytes)
            var names: [String] = []
            headers.forEach { name, _ in
                names.append(String(decoding: name, as: UTF8.self))
                return true
            }
            #expect(names == ["ce_type", "none", "", "ce_type"])
            #expect(headers.first(named: "ce_type").map { Array($0) } == Array("openrtb.win".utf8))
            #expect(headers.first(named: "none") == nil)
            #expect(headers.first(named: "absent") == nil)
        }
    }

    @Test("stops at bytes that are cut off, and reads nothing beyond them")
    func survivesCutBytes() {
        let encoded = RecordHeaders.encode([.init("a", "1"), .init("b", "2")])
        for length in 0..<encoded.count {
            encoded[..<length].withUnsafeBytes { bytes in
                var count = 0
                RecordHeaders(encoded: bytes).forEach { _, _ in
                    count += 1
                    return true
                }
                #expect(count == length / (encoded.count / 2))
            }
        }
    }
}
