import Foundation
import Monitoring

/// Where a request goes, and how long its answer may take.
package struct Destination: Equatable, Sendable {
    /// A name or an address; an IPv6 address without its brackets.
    package var host: String
    /// Whether the host may have an address that is not public.
    package var allowsPrivate: Bool
    package var timeoutMilliseconds: Int64

    package init(host: String, allowsPrivate: Bool, timeoutMilliseconds: Int64) {
        self.host = host
        self.allowsPrivate = allowsPrivate
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    /// Why sending to a host with these addresses is forbidden; nil if it is allowed.
    package func refusal(of addresses: [IPAddress]) -> String? {
        guard !allowsPrivate, let refused = addresses.first(where: { $0.refusal != nil }),
            let explanation = refused.refusal
        else { return nil }
        let subject = host == refused.description ? host : "\(host) is \(refused)"
        return "\(subject), \(explanation): set allow_private to allow it"
    }
}

package protocol HostResolver: Sendable {
    /// The addresses of a name in the order in which to try them; never empty. Waits as long as name servers take.
    func addresses(of host: String) throws(ResolutionFault) -> [IPAddress]
}

extension HostResolver {
    /// The addresses of a host. A host that is an address needs no lookup.
    package func addresses(ofHost host: String) throws(ResolutionFault) -> [IPAddress] {
        if let address = IPAddress(host) { return [address] }
        return try addresses(of: host)
    }
}

/// A name has no address at present.
package struct ResolutionFault: Error, Equatable, CustomStringConvertible {
    package let description: String
}

package struct SystemResolver: HostResolver {
    package init() {}

    package func addresses(of host: String) throws(ResolutionFault) -> [IPAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_ADDRCONFIG
        var first: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &first)
        guard code == 0 else {
            throw ResolutionFault(description: "\(host): \(String(cString: gai_strerror(code)))")
        }
        defer { freeaddrinfo(first) }
        var addresses: [IPAddress] = []
        var next = first
        while let entry = next?.pointee {
            if let address = Self.address(entry), !addresses.contains(address) {
                addresses.append(address)
            }
            next = entry.ai_next
        }
        guard !addresses.isEmpty else {
            throw ResolutionFault(description: "\(host): it has no address")
        }
        return addresses
    }

    private static func address(_ entry: addrinfo) -> IPAddress? {
        guard let socket = entry.ai_addr else { return nil }
        let raw = UnsafeRawPointer(socket)
        switch entry.ai_family {
        case AF_INET:
            let address = raw.loadUnaligned(as: sockaddr_in.self).sin_addr
            return withUnsafeBytes(of: address) { IPAddress(bytes: Array($0)) }
        case AF_INET6:
            let address = raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            return withUnsafeBytes(of: address) { IPAddress(bytes: Array($0)) }
        default: return nil
        }
    }
}

/// An IPv4 or IPv6 address.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// 4 or 16 bytes in network order.
    let bytes: [UInt8]

    init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Accepts the usual forms only: four decimal numbers without leading zeros, or IPv6 without brackets and zone.
    package init?(_ text: String) {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 {
            let parts = text.split(separator: ".")
            guard parts.allSatisfy({ $0.count == 1 || $0.first != "0" }) else { return nil }
            self.bytes = Array(bytes.prefix(4))
        } else if inet_pton(AF_INET6, text, &bytes) == 1 {
            self.bytes = bytes
        } else {
            return nil
        }
    }

    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Why a receiver must not have this address; nil for a public address.
    var refusal: String? {
        if let inner = embeddedIPv4 { return inner.refusal }
        return Self.refused.first { $0.range.contains(bytes) }?.explanation
    }

    /// The IPv4 address inside an IPv6 one: mapped, translated, NAT64 or 6to4.
    private var embeddedIPv4: IPAddress? {
        guard bytes.count == 16 else { return nil }
        for (prefix, start) in Self.embedding where bytes.starts(with: prefix) {
            return IPAddress(bytes: Array(bytes[start..<start + 4]))
        }
        return nil
    }

    /// Forbidden ranges for receivers, from the registries of special-purpose addresses, with their purposes.
    private static let refused = [
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared by carriers"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local, where clouds keep their metadata"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "for protocols"),
        ("192.0.2.0/24", "for documentation"),
        ("192.88.99.0/24", "for relays"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "for benchmarks"),
        ("198.51.100.0/24", "for documentation"),
        ("203.0.113.0/24", "for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
        ("::/96", "unspecified, loopback or no longer in use"),
        ("64:ff9b:1::/48", "for local translation"),
        ("100::/64", "for discarding"),
        ("2001::/23", "for protocols"),
        ("2001:db8::/32", "for documentation"),
        ("3fff::/20", "for documentation"),
        ("5f00::/16", "for segment routing"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    ].map { text, explanation in
        guard let range = AddressRange(text) else { preconditionFailure("\(text) is not a range") }
        return (range: range, explanation: explanation)
    }

    /// Prefixes of IPv6 before an IPv4 address, and the byte where that starts: `::ffff:0:0/96`, `::ffff:0:0:0/96`,
    /// `64:ff9b::/96` and `2002::/16`.
    private static let embedding: [([UInt8], Int)] = [
        ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 12),
        ([0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0], 12),
        ([0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0], 12),
        ([0x20, 0x02], 2),
    ]
}
