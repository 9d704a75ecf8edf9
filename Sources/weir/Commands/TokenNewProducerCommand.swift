import ArgumentParser
import Crypto
import Foundation
import Streams

/// `weir token new-producer`
struct TokenNewProducerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new-producer",
        abstract: "Makes a key for a producer of events, and the lines of collector.yaml for it.",
        discussion: """
            The key is shown this once, as the header to send, on standard error; the lines for the \
            configuration, which hold its SHA-256 only, on standard output.
            """)

    @Option(help: "What the producer is called.")
    var name: String
    @Option(help: "The topics that it may send to, as bids,impressions,overlay-clicks.")
    var topics: String

    func run() throws {
        let key = SecretText.random()
        let output = BufferedOutput()
        try output.write(try lines(key: key))
        try output.flush()
        FileHandle.standardError.write(Data("Authorization: Bearer \(key)\n".utf8))
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
            keys:
              - name: \(name)
                sha256: \(digest)
                topics: [\(listed.joined(separator: ", "))]

            """
    }
}
