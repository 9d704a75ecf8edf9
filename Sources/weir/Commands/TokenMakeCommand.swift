import ArgumentParser
import Collector
import Foundation
import JSONReader
import Pipelines
import Streams

/// `weir token make`
struct TokenMakeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "make",
        abstract: "Signs a token for GET /i, GET /c or a notice with the first of token_keys.",
        discussion: """
            The event is what is appended when the token comes back: a JSON object as the topic has \
            it, with the campaign key and, of a click, the overlay as the bid sent it. Members that \
            --open names are taken from the query; of a click the collector adds clicked_at_ms, and a \
            click_id where the event has none. A token is one event, however often it comes: it holds for \
            no longer than the worker of its topic remembers what it has counted.
            """)

    @Option(help: "i (image), c (click and redirect) or n (win, billing and loss notices).")
    var use: TokenUse
    @Option(help: "Type of the event; default skoverlay.presented, skoverlay.click, openrtb.win.")
    var type: String?
    @Option(help: ArgumentHelp("The event.", valueName: "json"))
    var event: String
    @Option(help: ArgumentHelp("Where a click goes to.", valueName: "url"))
    var to: String?
    @Option(
        help: ArgumentHelp(
            "Members that the query may say, as presented_at_ms,zone_id.", valueName: "names"))
    var open: String?
    @Option(
        help: ArgumentHelp(
            "How long it holds: seconds, or with m, h or d behind; default as long as it may.",
            valueName: "time"))
    var expiresIn: String?
    @OptionGroup var pipelines: PipelinesOptions

    func run() throws {
        let output = BufferedOutput()
        try output.write(try token(nowSeconds: Int64(Date().timeIntervalSince1970)) + "\n")
        try output.flush()
    }

    /// The token's text, when it is so many seconds since 1970.
    func token(nowSeconds: Int64) throws -> String {
        let keys = TokenKeys(try pipelines.directory.collector().tokenKeys)
        let type = type ?? use.types.first ?? ""
        guard use != .click || to != nil else {
            throw CommandError.usage("a click needs --to, the address that it goes on to")
        }
        let signed: String?
        do {
            let token = try EventToken(
                use: use, type: type, event: TokenEvent.checked(event, use: use, type: type),
                openMembers: open.map { $0.split(separator: ",").map(String.init) } ?? [],
                target: to ?? "",
                expiresAtSeconds: nowSeconds + seconds(TokenLifetimes(pipelines.directory)))
            signed = try keys.sign(token)
        } catch let error as TokenFault {
            throw CommandError.usage("\(error)")
        }
        guard let text = signed else {
            throw CommandError.failure(
                "\(pipelines.directory.path)/collector.yaml has no token_keys: make one with weir token new-key --out FILE"
            )
        }
        return text
    }

    private func seconds(_ lifetimes: TokenLifetimes) throws(CommandError) -> Int64 {
        let longest = lifetimes.longestSeconds(use)
        guard longest > 0 else {
            throw .usage(
                "no token of this use holds: \(use.topic.rawValue).yaml has dedupe_window_seconds: 0"
            )
        }
        guard let expiresIn else { return longest }
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        let unit = expiresIn.last.flatMap { units[$0] }
        let digits = unit == nil ? expiresIn[...] : expiresIn.dropLast()
        guard let count = Int64(digits), (1...Self.maxSeconds).contains(count)
        else {
            throw .usage("--expires-in '\(expiresIn)' is not understood: write 600, 10m, 24h, 6d")
        }
        guard count * (unit ?? 1) <= longest else {
            throw .usage(
                "--expires-in '\(expiresIn)' is longer than \(use.topic.rawValue) are remembered: give at most \(longest)"
            )
        }
        return count * (unit ?? 1)
    }

    /// Ten years: more than any worker remembers.
    private static let maxSeconds: Int64 = 315_360_000
}

/// Events that tokens carry.
private enum TokenEvent {
    /// The event in JSON, with `initiated_by` where a click does not say it. Throws what a worker would
    /// reject it for.
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
                        json.name("initiated_by")
                        json.string("user")
                    }
                }
                return json.text
            }
            let value = try reader.read(Array(event.utf8)) { event throws(Rejection) in
                Self.appended(event, type: type)
            }
            if fault == nil { _ = try reader.events(value, topic: use.topic, type: type) }
        } catch {
            throw .usage("--event: \(error.reason.name): \(error.detail)")
        }
        if let fault { throw .usage("--event: \(fault)") }
        return event
    }

    /// The event as it may be appended: with what the collector adds to a click, and with something in place of
    /// what a notice may leave to its query.
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
            json.name("\(added)")
            json.raw(0)
        }
        return Array(json.text.utf8)
    }
}

extension TokenUse: ExpressibleByArgument {}
