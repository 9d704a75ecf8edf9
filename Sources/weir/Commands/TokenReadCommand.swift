import ArgumentParser
import ConfigurationFiles
import Foundation
import JSON
import Program
import Streams
import Tokens
import Wording

struct TokenReadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "read",
        abstract: "Shows the content of a token that a key of token_keys signed.",
        discussion: """
            valid is true if the collector or the dashboard accepts the token now; otherwise fault contains the \
            reason. The command ends with 0 for every token that it can read.
            """)

    @Argument(help: "The token, or an address with the parameter t.")
    var token: String
    @OptionGroup var pipelines: PipelinesOptions

    func run() throws {
        try BufferedOutput.print(json(nowSeconds: Int64(Date().timeIntervalSince1970)) + "\n")
    }

    func json(nowSeconds: Int64) throws -> String {
        let directory = pipelines.directory(data: [])
        let keys = TokenKeys(
            try directory.collector().tokenKeys, lifetimes: try TokenLifetimes(directory))
        let text = token.firstMatch(of: /[?&]t=([^&#]+)/).map { String($0.1) } ?? token
        let found = try FoundToken.read(text, keys)
        let fault = found.fault(text, keys, atMilliseconds: nowSeconds * 1000)
        var json = JSONText()
        json.object { json in
            json.member("use", found.use)
            if case .event(let token) = found { json.member("type", token.type) }
            json.member("expires_at", UTC.text(milliseconds: found.expiresAtSeconds * 1000))
            json.member("expired", nowSeconds >= found.expiresAtSeconds)
            json.member("valid", fault == nil)
            if let fault { json.member("fault", fault.description) }
            switch found {
            case .event(let token):
                json.member("open", token.openMembers)
                json.member("to", token.target.isEmpty ? nil : token.target)
                json.name("event")
                json.raw(token.event)
            case .dashboard(let token):
                json.object("where") { json in
                    for condition in token.conditions {
                        json.member(condition.column, condition.value)
                    }
                }
            }
        }
        return json.text.withoutControlsInJSON
    }
}

/// A token of any use.
private enum FoundToken {
    case event(EventToken)
    case dashboard(ReadToken)

    /// A token is signed for one use, so each use is tried. Throws the fault of the token in its own use.
    static func read(_ text: String, _ keys: TokenKeys) throws(CommandError) -> FoundToken {
        var fault = TokenFault.forged
        for use in TokenUse.allCases {
            do throws(TokenFault) {
                return .event(try keys.read(text, for: use))
            } catch {
                if error.isOfToken { fault = error }
            }
        }
        do throws(TokenFault) {
            return .dashboard(try keys.readToken(text))
        } catch {
            if error.isOfToken { fault = error }
        }
        throw .failure("\(fault)")
    }

    var use: String {
        switch self {
        case .event(let token): token.use.rawValue
        case .dashboard: ReadToken.audience
        }
    }

    var expiresAtSeconds: Int64 {
        switch self {
        case .event(let token): token.expiresAtSeconds
        case .dashboard(let token): token.expiresAtSeconds
        }
    }

    /// The reason for which the collector or the dashboard would reject the token; nil if it is valid.
    func fault(_ text: String, _ keys: TokenKeys, atMilliseconds now: Int64) -> TokenFault? {
        do throws(TokenFault) {
            switch self {
            case .event(let token):
                _ = try keys.read(text, for: token.use, atMilliseconds: now)
            case .dashboard: _ = try keys.readToken(text, atMilliseconds: now)
            }
            return nil
        } catch {
            return error
        }
    }
}

extension TokenFault {
    /// Whether the token has the fault in its own use, not only in the one that was tried.
    fileprivate var isOfToken: Bool {
        switch self {
        case .forged, .otherUse: false
        case .expired, .lastsTooLong, .tooLong, .bad: true
        }
    }
}
