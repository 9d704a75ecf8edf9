import EventLog
import Testing

@Suite("LogAddress")
struct LogAddressTests {
    @Test("understands files and Kafka clusters, and writes them as they were read")
    func understands() throws {
        #expect(try LogAddress("sqlite:data/log.sqlite") == .sqlite(path: "data/log.sqlite"))
        #expect(try LogAddress("kafka://a:9092,b.example:1") == .kafka(["a:9092", "b.example:1"]))
        #expect(try LogAddress("kafka://[::1]:9092") == .kafka(["[::1]:9092"]))
        for text in ["sqlite:/x y/log", "kafka://a:9092,b:9093"] {
            #expect(try LogAddress(text).description == text)
        }
    }

    @Test(
        "refuses everything else",
        arguments: [
            "", "log.sqlite", "sqlite:", "SQLITE:x", "kafka:a:9092", "kafka://", "kafka://a",
            "kafka://a:", "kafka://a:0", "kafka://a:65536", "kafka://a:9092,", "kafka://:9092",
            "kafka://a:9092/topic", "kafka://a:+1", "kafka://a b:9092",
        ]
    )
    func refuses(text: String) {
        #expect(throws: LogError.badAddress(text)) { try LogAddress(text) }
    }

    @Test(
        "never says a user and password back",
        arguments: [
            "kafka://anna:geheim@a:9092", "anna:geheim@a:9092", "kafka://b:9092,anna:ge@heim@a:1",
            "http://anna:geheim@a:9092/x", "sqlite:\0//anna:geheim@a",
        ]
    )
    func masks(text: String) throws {
        let failure = #expect(throws: LogError.self) { try LogAddress(text) }
        let words = try #require(failure).description
        #expect(!words.contains("anna") && !words.contains("heim"), "\(words)")
        #expect(words.contains("***@a") && words.contains("kafka.yaml"), "\(words)")
    }
}
