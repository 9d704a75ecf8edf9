import Foundation

protocol HostResolver: Sendable {
    /// The addresses of a name in the order in which to try them; never empty. Waits as long as
    /// name servers take.
    func addresses(of host: String) throws(ResolutionFault) -> [IPAddress]
}

extension HostResolver {
    /// The addresses of a host. A host that is an address needs no lookup.
    func addresses(ofHost host: String) throws(ResolutionFault) -> [IPAddress] {
        if let address = IPAddress(host) { return [address] }
        return try addresses(of: host)
    }
}

/// A name has no address at present.
struct ResolutionFault: Error, Equatable, CustomStringConvertible {
    let description: String
}

struct SystemResolver: HostResolver {
    func addresses(of host: String) throws(ResolutionFault) -> [IPAddress] {
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
struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// 4 or 16 bytes in network order.
    let bytes: [UInt8]

    init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Accepts the usual forms only: four decimal numbers without leading zeros, or IPv6 without
    /// brackets and zone.
    init?(_ text: String) {
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

    var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Why a partner may not have this address; nil for a public address.
    var refusal: String? {
        if let inner = embeddedIPv4 { return inner.refusal }
        let ranges = bytes.count == 4 ? AddressRange.refusedIPv4 : AddressRange.refusedIPv6
        return ranges.first { $0.contains(bytes) }?.words
    }

    /// The IPv4 address inside an IPv6 one: mapped, translated, NAT64 or 6to4.
    private var embeddedIPv4: IPAddress? {
        guard bytes.count == 16 else { return nil }
        for (range, start) in AddressRange.embedding where range.contains(bytes) {
            return IPAddress(bytes: Array(bytes[start..<start + 4]))
        }
        return nil
    }
}

struct AddressRange: Sendable {
    private let prefix: [UInt8]
    private let bits: Int
    /// What the addresses are used for.
    let words: String

    private init(_ text: String, _ words: String) {
        let parts = text.split(separator: "/")
        prefix = IPAddress(String(parts[0]))?.bytes ?? []
        bits = Int(parts[1]) ?? 0
        self.words = words
    }

    func contains(_ bytes: [UInt8]) -> Bool {
        guard bytes.count == prefix.count else { return false }
        return (0..<bits).allSatisfy { bit in
            let mask = UInt8(0x80) >> UInt8(bit % 8)
            return bytes[bit / 8] & mask == prefix[bit / 8] & mask
        }
    }

    /// IPv4 ranges that no partner has, from the registry of special-purpose addresses.
    static let refusedIPv4 = [
        AddressRange("0.0.0.0/8", "unspecified"),
        AddressRange("10.0.0.0/8", "private"),
        AddressRange("100.64.0.0/10", "shared by carriers"),
        AddressRange("127.0.0.0/8", "loopback"),
        AddressRange("169.254.0.0/16", "link-local, where clouds keep their metadata"),
        AddressRange("172.16.0.0/12", "private"),
        AddressRange("192.0.0.0/24", "for protocols"),
        AddressRange("192.0.2.0/24", "for documentation"),
        AddressRange("192.88.99.0/24", "for relays"),
        AddressRange("192.168.0.0/16", "private"),
        AddressRange("198.18.0.0/15", "for benchmarks"),
        AddressRange("198.51.100.0/24", "for documentation"),
        AddressRange("203.0.113.0/24", "for documentation"),
        AddressRange("224.0.0.0/4", "multicast"),
        AddressRange("240.0.0.0/4", "reserved"),
    ]

    /// IPv6 ranges from the same registry.
    static let refusedIPv6 = [
        AddressRange("::/96", "unspecified, loopback or no longer in use"),
        AddressRange("64:ff9b:1::/48", "for local translation"),
        AddressRange("100::/64", "for discarding"),
        AddressRange("2001::/23", "for protocols"),
        AddressRange("2001:db8::/32", "for documentation"),
        AddressRange("3fff::/20", "for documentation"),
        AddressRange("5f00::/16", "for segment routing"),
        AddressRange("fc00::/7", "private"),
        AddressRange("fe80::/10", "link-local"),
        AddressRange("fec0::/10", "site-local"),
        AddressRange("ff00::/8", "multicast"),
    ]

    /// Ranges of IPv6 that contain an IPv4 address, and the byte where it starts.
    static let embedding = [
        (AddressRange("::ffff:0:0/96", "mapped"), 12),
        (AddressRange("::ffff:0:0:0/96", "translated"), 12),
        (AddressRange("64:ff9b::/96", "NAT64"), 12),
        (AddressRange("2002::/16", "6to4"), 2),
    ]
}
