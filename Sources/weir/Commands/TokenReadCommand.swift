import ArgumentParser
import Collector
import Foundation
import Pipelines
import Streams

/// `weir token read`
struct TokenReadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "read", abstract: "Says what a token carries, if one of token_keys signed it.")

    @Argument(help: "The token, or an address with it as its parameter t.")
    var token: String
    @OptionGroup var pipelines: PipelinesOptions

    func run() throws {
        let output = BufferedOutput()
        try output.write(try json(nowSeconds: Int64(Date().timeIntervalSince1970)) + "\n")
        try output.flush()
    }

    /// What the token says, when it is so many seconds since 1970.
    func json(nowSeconds: Int64) throws -> String {
        let keys = TokenKeys(try pipelines.directory.collector().tokenKeys)
        let text = token.firstMatch(of: /[?&]t=([^&#]+)/).map { String($0.1) } ?? token
        let found = try Self.token(text, keys)
        var json = JSONText()
        json.object { json in
            json.name("use")
            json.string(found.use.rawValue)
            json.name("type")
            json.string(found.type)
            json.name("expires_at")
            json.string(UTC.text(milliseconds: found.expiresAtSeconds * 1000))
            json.name("expired")
            json.raw(nowSeconds >= found.expiresAtSeconds)
            json.name("open")
            json.array { json in for name in found.openMembers { json.string(name) } }
            json.name("to")
            json.string(found.target.isEmpty ? nil : found.target)
            json.name("event")
            json.raw(found.event)
        }
        return json.text.withoutControlsInJSON
    }

    /// Reads a token of any use. Of those that it is not signed for, nothing can be said.
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
