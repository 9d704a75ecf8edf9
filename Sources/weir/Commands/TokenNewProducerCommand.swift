import ArgumentParser
import Crypto
import Foundation
import Pipelines
import Streams
import Worker

/// `weir token new-producer`
struct TokenNewProducerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new-producer",
        abstract: "Makes a key for a producer of events, and the lines of collector.yaml for it.",
        discussion: """
            The key is shown this once, as the header to send, on standard error; the lines for the \
            configuration, which hold its SHA-256 only, on standard output, with a comment that says \
            where in collector.yaml they belong. A running collector takes them over within seconds.
            """)

    @Option(
        help:
            "What the producer is called: letters, digits, and within them dashes, underscores and dots."
    )
    var name: String
    @Option(help: "The topics that it may send to, as bids,impressions,overlay-clicks.")
    var topics: String
    @OptionGroup var pipelines: PipelinesOptions

    func run() throws {
        let key = SecretText.random()
        let output = BufferedOutput()
        try output.write(try lines(key: key))
        try output.flush()
        StandardError.write(line: "Authorization: Bearer \(key)")
    }

    /// The lines for a key, and where they belong.
    func lines(key: String) throws -> String {
        // Anything else would have to be quoted in YAML, and would be hard to read in logs.
        let isPlain = name.wholeMatch(of: /[A-Za-z0-9_][A-Za-z0-9_.\-]{0,254}/) != nil
        guard isPlain, name.lowercased() != "null" else {
            throw CommandError.usage(
                "--name '\(name.withoutControls)' is no name of a producer: write 1 to 255 letters, digits, "
                    + "'-', '_' and '.', as bidder-eu, a letter, digit or '_' first, and not null")
        }
        let digest = SHA256.hash(data: Array(key.utf8)).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        let listed = topics.split(separator: ",").map(String.init)
        for topic in listed where ProducerTopic(rawValue: topic) == nil {
            let known = ProducerTopic.allCases.map(\.rawValue).joined(separator: ", ")
            throw CommandError.usage("--topics '\(topic)' is none of \(known)")
        }
        let file = "\(pipelines.directory.path)/collector.yaml"
        let place = KeysPlace(of: (try? String(contentsOfFile: file, encoding: .utf8)) ?? "")
        let indent = place.indent
        return """
            # \(place.words(file))
            \(place.hasKeys ? "" : "keys:\n")\(indent)- name: \(name)
            \(indent)  sha256: \(digest)
            \(indent)  topics: [\(listed.joined(separator: ", "))]

            """
    }
}

/// Where in the text of `collector.yaml` a further key belongs.
private enum KeysPlace {
    /// There is no `keys`.
    case end
    /// `keys` is there, and empty; the line as it stands there.
    case inPlace(of: String)
    /// Keys are there, a line each or more, which begin with these spaces.
    case below(indent: String)
    /// Keys are there in another form.
    case list

    init(of text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let place = lines.firstIndex(where: { $0.hasPrefix("keys:") }) else {
            self = .end
            return
        }
        let value = lines[place].dropFirst("keys:".count).prefix { $0 != "#" }
            .filter { $0 != " " && $0 != "\t" && $0 != "\r" }
        let next = lines[(place + 1)...].first { line in
            let text = line.drop { $0 == " " }
            return !text.isEmpty && !text.hasPrefix("#")
        }
        if value.isEmpty, let next, next.drop(while: { $0 == " " }).hasPrefix("-") {
            self = .below(indent: String(next.prefix { $0 == " " }))
        } else if value.isEmpty || value == "[]" {
            self = .inPlace(of: String(lines[place].prefix { $0 != "#" }).trimmed)
        } else {
            self = .list
        }
    }

    var indent: String {
        switch self {
        case .below(let indent): indent
        case .end, .inPlace, .list: "  "
        }
    }

    /// Whether the lines are to go below those of a `keys` that is there.
    var hasKeys: Bool {
        if case .below = self { true } else { false }
    }

    func words(_ file: String) -> String {
        switch self {
        case .end: "Add these lines at the end of \(file):"
        case .inPlace(let line): "Put these lines in place of the line `\(line)` of \(file):"
        case .below: "Put these lines right below the line `keys:` of \(file):"
        case .list: "Put these lines in place of `keys` of \(file), with the keys that it has:"
        }
    }
}

extension String {
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespaces) }
}
