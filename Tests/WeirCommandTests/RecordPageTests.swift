import EventLog
import Foundation
import History
import TestKit
import Testing

@testable import Dashboard
@testable import Reports
@testable import weir

@Suite("The page of a record", .timeLimit(.minutes(10)))
struct RecordPageTests {
    private let asker: PageAsker

    init() throws { asker = PageAsker(source: try ExampleStores.source()) }

    private func record(_ topic: String, _ partition: Int, _ offset: Int) throws -> String {
        let page = try asker.page("/record?topic=\(topic)&partition=\(partition)&offset=\(offset)")
        #expect(page.status == 200)
        return page.text
    }

    @Test("a value that is not JSON is shown as it is, with the byte of its fault marked")
    func faults() throws {
        let cut = try record("bids", 2, 110)
        #expect(
            cut.contains(
                ">{&quot;request&quot;:{&quot;id&quot;:&quot;a&quot;},<mark title=\"byte 22\">(end)</mark></pre>"
            ))
        #expect(cut.contains("malformed_json: a member&#39;s name is missing at byte 22"))
        let word = try record("postbacks", 3, 2)
        #expect(word.contains("<mark title=\"byte 0\">n</mark>ot a postback</pre>"))
        // The line as weir read prints it is behind a click.
        #expect(word.contains("<summary>As a line of JSON</summary>"))
        let valid = try record("postbacks", 1, 4)
        #expect(!valid.contains("As a line of JSON") && !valid.contains("<mark"))
    }

    @Test("a shown line is JSON that can be published again, with the bytes of the value")
    func lines() throws {
        func shown(_ page: String, after beginning: String) throws -> [UInt8] {
            let pre = beginning + "<pre class=\"record\">"
            let start = try #require(page.range(of: pre)).upperBound
            let end = try #require(page[start...].range(of: "</pre>")).lowerBound
            let line = page[start..<end].replacing("<br>", with: "")
                .replacing("&quot;", with: "\"").replacing("&amp;", with: "&")
            return Array(line.utf8)
        }
        for (topic, partition, offset, beginning) in [
            ("bids", 2, 110, "<summary>As a line of JSON</summary>"),
            ("postbacks", 1, 4, "</pre>"),
        ] {
            let page = try record(topic, partition, offset)
            let line = try shown(page, after: beginning)
            _ = try JSONSerialization.jsonObject(with: Data(line))
            let published = try line.withUnsafeBytes {
                try RecordLine.record($0, topic: topic, partitionCount: .max)
            }
            let position = try #require(TopicPosition("\(topic)/\(partition)/\(offset)"))
            let stored = try #require(try asker.source.record(at: position))
            let value = try #require(published.value)
            // The value of an indented line has other spaces.
            guard let text = stored.text else { continue }
            #expect(value == text.bytes && text.all.contains("\""))
            #expect(line == stored.line)
        }
    }

    @Test("a marked byte is a whole character, and a hidden value has no marks")
    func parts() throws {
        let text = RecordText(bytes: Array("aé\"z".utf8), isMasked: false)
        for byte in [1, 2] {
            let parts = try #require(text.parts(around: byte))
            #expect(parts == ("a", "é", "\"z"), "\(byte)")
        }
        let end = try #require(text.parts(around: 5))
        #expect(end == ("aé\"z", "", ""))
        #expect(text.parts(around: 6) == nil)
        #expect(RecordText(bytes: Array("***".utf8), isMasked: true).parts(around: 1) == nil)
    }

    @Test("a notification begins with its content, and a postback with its line")
    func order() throws {
        for (topic, partition, isFirst) in [
            ("store-notifications", 0, true), ("postbacks", 1, false),
        ] {
            let page = try record(topic, partition, 0)
            let content = try #require(page.range(of: "<h2>Signature and content</h2>")).lowerBound
            let line = try #require(page.range(of: "<h2>\(topic)/\(partition)/0</h2>")).lowerBound
            #expect((content < line) == isFirst, "\(topic)")
        }
    }

    @Test("the page Live calls rejected records rejected")
    func words() throws {
        let live = try asker.page("/live").text
        #expect(live.contains(">rejected</th>") && !live.contains(">refused<"))
    }

    @Test("the page Records has the number of all rejected records")
    func total() throws {
        let page = try asker.page("/records?period=all")
        let links = page.links.filter {
            $0.address.hasPrefix("/explain/rejected?") && $0.address.hasSuffix("measure=records")
        }
        let counts = links.compactMap { Int($0.text.replacing(",", with: "")) }
        // The first is the total, and the others are those of topics, types and reasons.
        let total = try #require(counts.first)
        #expect(page.text.contains("Records in total: <a "))
        #expect(counts.count > 2 && total == counts.dropFirst().reduce(0, +))
    }
}
