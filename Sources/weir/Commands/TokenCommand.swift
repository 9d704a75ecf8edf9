import ArgumentParser
import Collector
import ConfigurationFiles
import ConfigurationValues
import Crypto
import DatabaseFiles
import Engine
import Foundation
import JSON
import Program
import Reports
import Store
import Streams
import Tokens
import Wording

struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Makes and reads the collector's tokens, and makes keys.",
        subcommands: [
            TokenMakeCommand.self, TokenReadCommand.self, TokenNewKeyCommand.self,
            TokenNewProducerCommand.self,
        ])
}

struct TokenMakeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "make",
        abstract: """
            Signs a token with the first of token_keys: for GET /i, GET /c or a notice, or to read the dashboard.
            """,
        discussion: """
            With --read: a token to sign in to the dashboard with, or to send as Authorization: Bearer for its \
            CSV and JSON. Each --where fixes a column, so that a partner or client sees their own rows only, \
            on every page and in every file.

              weir token make --read --expires-in 90d
              weir token make --read --where campaign=5239 --where app_id=525463029

            The event is what is appended when the token comes back: a JSON object as the topic has \
            it, with the campaign key and, of a click, the overlay as the bid sent it. Members that \
            --open names are taken from the query; of a click the collector adds clicked_at_ms, and a \
            click_id where the event has none. A token is one event, however often it comes: it holds for \
            no longer than the worker of its topic remembers what it has counted.
            """)

    @Flag(help: "A token that reads the dashboard.") var read = false
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            "With --read: only rows with this value in this column; may be given several times.",
            valueName: "column=value"))
    var conditions: [String] = []
    @Option(help: "i (image), c (click and redirect) or n (win, billing and loss notices).")
    var use: TokenUse?
    @Option(help: "Type of the event; default skoverlay.presented, skoverlay.click, openrtb.win.")
    var type: String?
    @Option(help: ArgumentHelp("The event.", valueName: "json"))
    var event: String?
    @Option(help: ArgumentHelp("Where a click goes to.", valueName: "url"))
    var to: String?
    @Option(
        help: ArgumentHelp(
            "Members that the query may say, as presented_at_ms,zone_id.", valueName: "names"))
    var open: String?
    @Option(
        help: ArgumentHelp(
            "How long it holds: seconds, or with m, h or d behind; default as long as it may, and 30d with --read.",
            valueName: "time"))
    var expiresIn: String?
    @OptionGroup var pipelines: PipelinesOptions

    func run() throws {
        try BufferedOutput.print(token(nowSeconds: Int64(Date().timeIntervalSince1970)) + "\n")
    }

    func token(nowSeconds: Int64) throws -> String {
        let keys = TokenKeys(try pipelines.directory.collector().tokenKeys)
        guard !read else {
            return try Self.signed { try keys.sign(readToken(nowSeconds)) } ?? noKey()
        }
        guard conditions.isEmpty else {
            throw CommandError.usage("--where is of --read: a token of an event is for that event")
        }
        guard let use, let event else {
            throw CommandError.usage("give --use and --event, or --read")
        }
        let type = type ?? use.types.first ?? ""
        guard use != .click || to != nil else {
            throw CommandError.usage("a click needs --to, the address that it goes on to")
        }
        let longest = try TokenLifetimes(pipelines.directory).longestSeconds(use)
        let signed = try Self.signed {
            let token = try EventToken(
                use: use, type: type, event: TokenEvent.checked(event, use: use, type: type),
                openMembers: open.map { $0.split(separator: ",").map(String.init) } ?? [],
                target: to ?? "", expiresAtSeconds: nowSeconds + seconds(for: use, longest))
            return try keys.sign(token)
        }
        return try signed ?? noKey()
    }

    /// An invalid token is an error of the command line.
    private static func signed(_ sign: () throws -> String?) throws -> String? {
        do {
            return try sign()
        } catch let error as TokenFault {
            throw CommandError.usage("\(error)")
        }
    }

    private func noKey() throws(CommandError) -> String {
        throw .failure(
            "\(pipelines.directory.path)/collector.yaml has no token_keys: make one with weir token new-key --out FILE"
        )
    }

    private func readToken(_ nowSeconds: Int64) throws(CommandError) -> ReadToken {
        guard use == nil, event == nil, type == nil, to == nil, open == nil else {
            throw .usage("--read stands without --use, --type, --event, --to and --open")
        }
        let known = Set(DumpDescription.all.flatMap(\.columns).map(\.name) + Funnel.columnNames)
        var wanted: [ReadToken.Condition] = []
        for text in conditions {
            let condition = try ReportRequest.Condition(argument: text)
            guard known.contains(condition.column) else {
                throw .usage("--where \(text): no dump has a column '\(condition.column)'")
            }
            guard !wanted.contains(where: { $0.column == condition.column }) else {
                throw .usage("--where \(text): \(condition.column) is fixed twice")
            }
            wanted.append(ReadToken.Condition(column: condition.column, value: condition.value))
        }
        let seconds = expiresIn == nil ? 30 * 86_400 : try requestedSeconds(expiresIn ?? "")
        return ReadToken(conditions: wanted, expiresAtSeconds: nowSeconds + seconds)
    }

    private func seconds(for use: TokenUse, _ longest: Int64) throws(CommandError) -> Int64 {
        guard longest > 0 else {
            throw .usage(
                "no token of this use holds: \(use.stream.streamName).yaml has dedupe_window_seconds: 0"
            )
        }
        guard let expiresIn else { return longest }
        let seconds = try requestedSeconds(expiresIn)
        guard seconds <= longest else {
            throw .usage(
                "--expires-in '\(expiresIn)' is longer than \(use.stream.streamName) are remembered: give at most \(longest)"
            )
        }
        return seconds
    }

    private func requestedSeconds(_ text: String) throws(CommandError) -> Int64 {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        let unit = text.last.flatMap { units[$0] }
        let digits = unit == nil ? text[...] : text.dropLast()
        guard let count = Int64(digits), (1...Self.maxSeconds).contains(count) else {
            throw .usage("--expires-in '\(text)' is not understood: write 600, 10m, 24h, 6d")
        }
        return count * (unit ?? 1)
    }

    /// Ten years: longer than any dedupe window.
    private static let maxSeconds: Int64 = 315_360_000
}

private enum TokenEvent {
    /// The event in JSON, with `initiated_by` added to a click that lacks it. Throws if a worker would reject it.
    static func checked(
        _ text: String, use: TokenUse, type: String
    ) throws(CommandError) -> String {
        guard let reader = RecordKeyReader() else { throw .failure("no memory for a parser") }
        var fault: TokenFault?
        let event: String
        do throws(Rejection) {
            event = try reader.read(Array(text.utf8)) { event throws(Rejection) in
                do throws(TokenFault) {
                    try EventToken.checkFixedMembers(of: event, use: use)
                } catch {
                    fault = error
                }
                var json = JSONText()
                json.object { json in
                    event.forEachMember { name, member in
                        json.name(String(decoding: name, as: UTF8.self))
                        json.value(member)
                    }
                    if use == .click, event.member("initiated_by") == nil {
                        json.member("initiated_by", "user")
                    }
                }
                return json.text
            }
            let value = try reader.read(Array(event.utf8)) { event throws(Rejection) in
                Self.appended(event, type: type)
            }
            if fault == nil { _ = try reader.events(value, stream: use.stream, type: type) }
        } catch {
            throw .usage("--event: \(error.reason.name): \(error.detail)")
        }
        if let fault { throw .usage("--event: \(fault)") }
        return event
    }

    /// The event as the collector would append it: with the members that it adds to a click, and with a value for those
    /// that a notice may leave to its query.
    private static func appended(_ event: JSONValue, type: String) -> [UInt8] {
        let isClick = type == "skoverlay.click"
        let added: StaticString? =
            switch type {
            case "skoverlay.click": "clicked_at_ms"
            case "openrtb.billing": "price"
            case "openrtb.loss": "loss_reason"
            default: nil
            }
        var json = JSONText()
        json.object { json in
            event.forEachMember { name, member in
                let name = String(decoding: name, as: UTF8.self)
                guard !isClick || name != "clicked_at_ms" else { return }
                json.name(name)
                json.value(member)
            }
            guard let added, isClick || event.member(added) == nil else { return }
            json.member("\(added)", 0)
        }
        return json.bytes
    }
}

extension TokenUse: ExpressibleByArgument {}

struct TokenReadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "read", abstract: "Says what a token carries, if one of token_keys signed it.")

    @Argument(help: "The token, or an address with it as its parameter t.")
    var token: String
    @OptionGroup var pipelines: PipelinesOptions

    func run() throws {
        try BufferedOutput.print(json(nowSeconds: Int64(Date().timeIntervalSince1970)) + "\n")
    }

    func json(nowSeconds: Int64) throws -> String {
        let keys = TokenKeys(try pipelines.directory.collector().tokenKeys)
        let text = token.firstMatch(of: /[?&]t=([^&#]+)/).map { String($0.1) } ?? token
        let found = try Self.token(text, keys)
        var json = JSONText()
        json.object { json in
            json.member("use", found.use.rawValue)
            json.member("type", found.type)
            json.member("expires_at", UTC.text(milliseconds: found.expiresAtSeconds * 1000))
            json.member("expired", nowSeconds >= found.expiresAtSeconds)
            json.member("open", found.openMembers)
            json.member("to", found.target.isEmpty ? nil : found.target)
            json.name("event")
            json.raw(found.event)
        }
        return json.text.withoutControlsInJSON
    }

    /// Parses a token of any use. A token is signed for one use, so each use is tried.
    private static func token(_ text: String, _ keys: TokenKeys) throws(CommandError) -> EventToken
    {
        for use in TokenUse.allCases {
            do throws(TokenFault) {
                return try keys.read(text, for: use)
            } catch .forged {
                continue
            } catch {
                throw .failure("\(error)")
            }
        }
        throw .failure("\(TokenFault.forged)")
    }
}

struct TokenNewKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new-key",
        abstract: "Makes a key to sign tokens with, for a file that token_keys names.")

    @Option(
        help: ArgumentHelp(
            "Write it to a new file that only its owner reads, in a directory that is made; default: print it.",
            valueName: "file"))
    var out: String?

    func run() throws {
        if let out { return try SecretFile.make(SecretText.random() + "\n", at: out) }
        try BufferedOutput.print(SecretText.random() + "\n")
    }
}

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
        try BufferedOutput.print(lines(key: key))
        StandardError.write(line: "Authorization: Bearer \(key)")
    }

    func lines(key: String) throws -> String {
        // Other names would need quotes in YAML, and would be hard to read in logs.
        let isPlain = name.wholeMatch(of: /[A-Za-z0-9_][A-Za-z0-9_.\-]{0,254}/) != nil
        guard isPlain, name.lowercased() != "null" else {
            throw CommandError.usage(
                "--name '\(name.withoutControls)' is no name of a producer: write 1 to 255 letters, digits, "
                    + "'-', '_' and '.', as bidder-eu, a letter, digit or '_' first, and not null")
        }
        let digest = Array(key.utf8).withUnsafeBytes { HexDigest.sha256($0) }
        let known = producedStreams.map { $0.streamName }
        let listed = topics.split(separator: ",").map(String.init)
        for topic in listed where !known.contains(topic) {
            throw CommandError.usage(
                "--topics '\(topic)' is none of \(known.joined(separator: ", "))")
        }
        let file = "\(pipelines.directory.path)/collector.yaml"
        let text = (try? RegularFile.text(of: file)) ?? ""
        let place = KeysPlace(of: text, file: file)
        let indent = place.indent
        return """
            # \(place.explanation)
            \(place.hasKeys ? "" : "keys:\n")\(indent)- name: \(name)
            \(indent)  sha256: \(digest)
            \(indent)  topics: [\(listed.joined(separator: ", "))]

            """
    }
}

/// The position in the text of `collector.yaml` for another key.
private struct KeysPlace {
    let explanation: String
    /// The indentation of a key's lines.
    var indent = "  "
    /// Whether there is a `keys` entry to extend.
    var hasKeys = false

    init(of text: String, file: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let place = lines.firstIndex(where: { $0.hasPrefix("keys:") }) else {
            explanation = "Add these lines at the end of \(file):"
            return
        }
        let value = lines[place].dropFirst("keys:".count).prefix { $0 != "#" }
            .filter { $0 != " " && $0 != "\t" && $0 != "\r" }
        let next = lines[(place + 1)...].first { line in
            let text = line.drop { $0 == " " }
            return !text.isEmpty && !text.hasPrefix("#")
        }
        if value.isEmpty, let next, next.drop(while: { $0 == " " }).hasPrefix("-") {
            explanation = "Put these lines right below the line `keys:` of \(file):"
            indent = String(next.prefix { $0 == " " })
            hasKeys = true
        } else if value.isEmpty || value == "[]" {
            let line = lines[place].prefix { $0 != "#" }.trimmingCharacters(in: .whitespaces)
            explanation = "Put these lines in place of the line `\(line)` of \(file):"
        } else {
            explanation =
                "Put these lines in place of `keys` of \(file), with the keys that it has:"
        }
    }
}

/// A file readable only by its owner.
enum SecretFile {
    /// Creates the file and its directories. Throws if the file exists.
    static func make(_ text: String, at path: String) throws(CommandError) {
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw .failure("cannot make the directory \(directory): let this user write there")
        }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let explanation = String(cString: strerror(errno))
            throw .failure(
                "cannot make \(path): \(explanation): give --out another file, or remove this one")
        }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0 else {
            throw .failure("cannot write \(path): \(String(cString: strerror(errno)))")
        }
    }
}
