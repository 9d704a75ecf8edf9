/// Where an event log lies: what `--log` names.
package enum LogAddress: Hashable, Sendable, CustomStringConvertible {
    /// The embedded log in one SQLite file: `sqlite:PATH`.
    case sqlite(path: String)
    /// A Kafka cluster: `kafka://HOST:PORT[,HOST:PORT]`; each element is `HOST:PORT`.
    case kafka([String])

    /// Reads an address as a person writes it. Throws `badAddress`.
    package init(_ text: String) throws(LogError) {
        if text.hasPrefix("sqlite:") {
            let path = text.dropFirst("sqlite:".count)
            guard !path.isEmpty, !path.utf8.contains(0) else {
                throw .badAddress(Self.masked(text))
            }
            self = .sqlite(path: String(path))
        } else if text.hasPrefix("kafka://") {
            let brokers = text.dropFirst("kafka://".count)
                .split(separator: ",", omittingEmptySubsequences: false)
            guard brokers.allSatisfy(Self.isHostAndPort) else {
                throw .badAddress(Self.masked(text))
            }
            self = .kafka(brokers.map(String.init))
        } else {
            throw .badAddress(Self.masked(text))
        }
    }

    /// The address as `init` reads it.
    package var description: String {
        switch self {
        case .sqlite(let path): "sqlite:\(path)"
        case .kafka(let brokers): "kafka://" + brokers.joined(separator: ",")
        }
    }

    /// A text that was given as an address, without the user and password that may stand in it.
    package static func masked(_ text: String) -> String {
        guard let at = text.lastIndex(of: "@") else { return text }
        let scheme = text[..<at].firstRange(of: "://").map { text[..<$0.upperBound] } ?? ""
        return scheme + "***" + text[at...]
    }

    /// A name, an IPv4 address or an IPv6 address in brackets, a colon, and a port from 1 to 65535.
    private static func isHostAndPort(_ text: Substring) -> Bool {
        guard let colon = text.lastIndex(of: ":") else { return false }
        let host = text[..<colon]
        let port = text[text.index(after: colon)...]
        guard let number = UInt16(port), number > 0, port.utf8.allSatisfy(isDigit) else {
            return false
        }
        if host.hasPrefix("["), host.hasSuffix("]") { return host.utf8.count > 2 }
        return !host.isEmpty
            && !host.contains { "/:@[]".contains($0) || $0.isWhitespace || !$0.isASCII }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
