import ArgumentParser
import Crypto
import Streams

/// `weir token new-producer`
struct TokenNewProducerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new-producer",
        abstract: "Makes a key for a producer of events, and the lines of collector.yaml for it.",
        discussion: "The key is shown this once: the configuration holds its SHA-256 only.")

    @Option(help: "What the producer is called.")
    var name: String
    @Option(help: "The topics that it may send to, as bids,impressions,overlay-clicks.")
    var topics: String

    func run() throws {
        let output = BufferedOutput()
        try output.write(try lines(key: SecretText.random()))
        try output.flush()
    }

    /// The lines for a key.
    func lines(key: String) throws -> String {
        let digest = SHA256.hash(data: Array(key.utf8)).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        let listed = topics.split(separator: ",").map(String.init)
        for topic in listed where ProducerTopic(rawValue: topic) == nil {
            let known = ProducerTopic.allCases.map(\.rawValue).joined(separator: ", ")
            throw CommandError.usage("--topics '\(topic)' is none of \(known)")
        }
        return """
            # Authorization: Bearer \(key)
            keys:
              - name: \(name)
                sha256: \(digest)
                topics: [\(listed.joined(separator: ", "))]

            """
    }
}
