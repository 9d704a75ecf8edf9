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
        abstract: "Creates and reads tokens, and creates keys.",
        subcommands: [
            TokenMakeCommand.self, TokenReadCommand.self, TokenNewKeyCommand.self,
            TokenNewProducerCommand.self,
        ])
}

struct TokenMakeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "make",
        abstract: """
            Creates a token with the first key of token_keys: for GET /i, GET /c, a notice, or the dashboard.
            """,
        discussion: """
            With --read, the command creates a token for the dashboard: to sign in, or to send as Authorization: \
            Bearer for CSV and JSON. Each --where limits a column, so that a partner or client sees only their \
            own rows, on every page and in every file.

              weir token make --read --expires-in 90d
              weir token make --read --where campaign=5239 --where app_id=525463029

            With --operate, the command creates a token for the dashboard whose holder may also act: requeue \
            dead letters, retry deliveries, and end the pause of a partner. The log of actions names the holder \
            (weir actions).

              weir token make --operate --name anna --expires-in 8h

            --event is the event that the collector appends when it receives the token: a JSON object in the \
            form of the topic, with the campaign key. A click also has the overlay of the bid. The collector \
            reads the members in --open from the query. To a click, it adds clicked_at_ms, and click_id if the \
            event has none.

            A token counts as one event, however often it is sent. It expires before the worker of its topic \
            forgets the id.
            """)

    @Flag(help: "Create a token for the dashboard.") var read = false
    @Flag(help: "Create a token for the dashboard that may also act. Needs --name.")
    var operate = false
    @Option(help: "With --operate: the holder of the token, as in the log of actions.")
    var name: String?
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            "With --read: only rows with this value in this column; repeatable.",
            valueName: "column=value"))
    var conditions: [String] = []
    @Option(help: "i (image), c (click and redirect) or n (win, billing and loss notices).")
    var use: TokenUse?
    @Option(
        help:
            "The type of the event (default: skoverlay.presented, skoverlay.click or openrtb.win).")
    var type: String?
    @Option(help: ArgumentHelp("The event.", valueName: "json"))
    var event: String?
    @Option(help: ArgumentHelp("The address to which a click redirects.", valueName: "url"))
    var to: String?
    @Option(
        help: ArgumentHelp(
            "Members that the query may set, for example presented_at_ms,zone_id.",
            valueName: "names"))
    var open: String?
    @Option(
        help: ArgumentHelp(
            "Validity of the token: 600, 10m, 24h or 6d (default: as long as possible, with --read and --operate 30d).",
            valueName: "time"))
    var expiresIn: String?
    @OptionGroup var pipelines: PipelinesOptions

    func run() throws {
        try BufferedOutput.print(token(nowSeconds: Int64(Date().timeIntervalSince1970)) + "\n")
    }

    func token(nowSeconds: Int64) throws -> String {
        let keys = TokenKeys(try pipelines.directory(data: []).collector().tokenKeys)
        guard !read, !operate else {
            return try Self.signed { try keys.sign(readToken(nowSeconds)) } ?? noKey()
        }
        guard conditions.isEmpty else {
            throw CommandError.usage(
                "--where needs --read: the token of an event is only for that event")
        }
        guard name == nil else {
            throw CommandError.usage("--name needs --operate: other tokens have no holder")
        }
        guard let use, let event else {
            throw CommandError.usage("give --use and --event, or --read, or --operate")
        }
        let type = type ?? use.types.first ?? ""
        guard use != .click || to != nil else {
            throw CommandError.usage("a click needs --to, the address to which it redirects")
        }
        let longest = try TokenLifetimes(pipelines.directory(data: [])).longestSeconds(use)
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
            "\(pipelines.directory(data: []).path)/collector.yaml has no token_keys: create a key with weir token new-key --out FILE"
        )
    }

    private func readToken(_ nowSeconds: Int64) throws(CommandError) -> ReadToken {
        guard use == nil, event == nil, type == nil, to == nil, open == nil else {
            throw .usage(
                "--read and --operate exclude --use, --type, --event, --to and --open: remove them")
        }
        let actor = try actor()
        let valid = Set(DumpDescription.all.flatMap(\.columns).map(\.name) + Funnel.columnNames)
        let wanted = try ReportRequest.Condition.list(arguments: conditions)
        // The catalog changes, and what a token shows must not.
        guard !wanted.contains(where: { $0.column == ReportRequest.catalogCampaign }) else {
            throw .usage(
                "--where \(ReportRequest.catalogCampaign)=...: a token is limited by columns of records: use campaign"
            )
        }
        if let unknown = wanted.first(where: { !valid.contains($0.column) }) {
            throw .usage(
                "--where \(unknown.column)=\(unknown.value): the dumps have no column '\(unknown.column)'"
            )
        }
        let seconds = expiresIn == nil ? 30 * 86_400 : try requestedSeconds(expiresIn ?? "")
        return ReadToken(
            conditions: wanted.map { .init(column: $0.column, value: $0.value) },
            expiresAtSeconds: nowSeconds + seconds, actor: actor)
    }

    /// The longest name in a token and in the log of actions.
    private static let longestName = 100

    /// The holder of an operator's token; nil without `--operate`.
    private func actor() throws(CommandError) -> ReadToken.Actor? {
        guard operate else {
            guard name == nil else {
                throw .usage("--name needs --operate: other tokens have no holder")
            }
            return nil
        }
        guard conditions.isEmpty else {
            throw .usage("--operate excludes --where: actions concern all rows")
        }
        let name = name?.trimmingCharacters(in: .whitespaces) ?? ""
        guard !name.isEmpty, name.count <= Self.longestName, name == name.withoutControls else {
            throw .usage(
                "--operate needs --name, the holder of the token: give 1 to \(Self.longestName) characters, for example --name anna"
            )
        }
        return ReadToken.Actor(name: name, tokenID: String(SecretText.random().prefix(12)))
    }

    private func seconds(for use: TokenUse, _ longest: Int64) throws(CommandError) -> Int64 {
        guard longest > 0 else {
            throw .usage(
                "a token of this use cannot be valid, because \(use.stream.streamName).yaml has dedupe_window_seconds: 0"
            )
        }
        guard let expiresIn else { return longest }
        let seconds = try requestedSeconds(expiresIn)
        guard seconds <= longest else {
            throw .usage(
                "--expires-in '\(expiresIn)' is too long: a token must expire before the dedupe window of \(use.stream.streamName) ends, with a margin; give at most \(longest)"
            )
        }
        return seconds
    }

    private func requestedSeconds(_ text: String) throws(CommandError) -> Int64 {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        let unit = text.last.flatMap { units[$0] }
        let digits = unit == nil ? text[...] : text.dropLast()
        guard let count = Int64(digits), (1...Self.maxSeconds).contains(count) else {
            throw .usage(
                "--expires-in '\(text)' is not a duration: write it as 600, 10m, 24h or 6d")
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
        guard let reader = RecordKeyReader() else {
            throw .failure("not enough memory for a JSON parser")
        }
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

struct TokenNewKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new-key",
        abstract: "Creates a key that signs tokens, for a file under token_keys.")

    @Option(
        help: ArgumentHelp(
            "Write the key to a new file that only its owner can read; creates the directory (default: print the key).",
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
        abstract: "Creates a key for a producer of events, and its lines for collector.yaml.",
        discussion: """
            The command prints the key only once, as the header to send, on standard error. On standard output, \
            it prints the lines for collector.yaml with the key's SHA-256, and a comment that tells you where to \
            put them. A running collector reloads the file within seconds.
            """)

    @Option(
        help:
            "The name of the producer: letters, digits, '-', '_' and '.'."
    )
    var name: String
    @Option(help: "The topics that it may send to, for example bids,impressions,overlay-clicks.")
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
                "--name '\(name.withoutControls)' is not a name of a producer: write 1 to 255 letters, digits, "
                    + "'-', '_' and '.', for example bidder-eu, with a letter, digit or '_' first, and not null"
            )
        }
        let digest = Array(key.utf8).withUnsafeBytes { HexDigest.sha256($0) }
        let valid = producedStreams.map { $0.streamName }
        let listed = topics.split(separator: ",").map(String.init)
        for topic in listed where !valid.contains(topic) {
            throw CommandError.usage(
                "--topics '\(topic)' is unknown: write \(valid.joined(separator: ", "))")
        }
        let file = "\(pipelines.directory(data: []).path)/collector.yaml"
        let text = (try? RegularFile.text(of: file)) ?? ""
        let location = KeysLocation(of: text, file: file)
        let indent = location.indent
        return """
            # \(location.explanation)
            \(location.hasKeys ? "" : "keys:\n")\(indent)- name: \(name)
            \(indent)  sha256: \(digest)
            \(indent)  topics: [\(listed.joined(separator: ", "))]

            """
    }
}

/// The position in the text of `collector.yaml` for another key.
private struct KeysLocation {
    let explanation: String
    /// The indentation of a key's lines.
    var indent = "  "
    /// Whether there is a `keys` entry to extend.
    var hasKeys = false

    init(of text: String, file: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let index = lines.firstIndex(where: { $0.hasPrefix("keys:") }) else {
            explanation = "Add these lines at the end of \(file):"
            return
        }
        let value = lines[index].dropFirst("keys:".count).prefix { $0 != "#" }
            .filter { $0 != " " && $0 != "\t" && $0 != "\r" }
        let next = lines[(index + 1)...].first { line in
            let text = line.drop { $0 == " " }
            return !text.isEmpty && !text.hasPrefix("#")
        }
        if value.isEmpty, let next, next.drop(while: { $0 == " " }).hasPrefix("-") {
            explanation = "Put these lines directly below the line `keys:` of \(file):"
            indent = String(next.prefix { $0 == " " })
            hasKeys = true
        } else if value.isEmpty || value == "[]" {
            let line = lines[index].prefix { $0 != "#" }.trimmingCharacters(in: .whitespaces)
            explanation = "Put these lines in place of the line `\(line)` of \(file):"
        } else {
            explanation =
                "Put these lines in place of `keys` of \(file), together with its present keys:"
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
            throw .failure("cannot create the directory \(directory): grant this user write access")
        }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let explanation = String(cString: strerror(errno))
            throw .failure(
                "cannot create \(path): \(explanation). Give --out another file, or remove this one"
            )
        }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0 else {
            throw .failure("cannot write \(path): \(String(cString: strerror(errno)))")
        }
    }
}
