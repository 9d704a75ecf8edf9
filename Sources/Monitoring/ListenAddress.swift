/// Where a server listens: `HOST:PORT`, an IPv6 address in brackets.
package struct ListenAddress: Equatable, Sendable, CustomStringConvertible {
    /// A name or an address, without brackets.
    package let host: String
    /// 0 for any free port.
    package let port: UInt16

    /// Takes a host, without brackets, and a port.
    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Reads an address as a person writes it; nil when it is none.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        var host = text[..<colon]
        guard let port = UInt16(digits), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        if host.hasPrefix("["), host.hasSuffix("]"), host.utf8.count > 2 {
            host = host.dropFirst().dropLast()
            // A zone, the name of an interface, may follow.
            let address = host.prefix { $0 != "%" }
            guard address.contains(":"), address.allSatisfy({ $0.isHexDigit || ":.".contains($0) }),
                host.allSatisfy({ $0.isASCII && !$0.isWhitespace && $0 != "/" })
            else { return nil }
        } else {
            let isNamed = host.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                    || "-._".utf8.contains(byte)
            }
            guard !host.isEmpty, isNamed else { return nil }
        }
        self.init(host: String(host), port: port)
    }

    /// The address as `init` reads it.
    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
