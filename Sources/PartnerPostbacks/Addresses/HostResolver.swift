import Foundation

/// Turns names into addresses.
protocol HostResolver: Sendable {
    /// The addresses of a name, in the order in which to try them; never none. Waits for as long as name
    /// servers take.
    func addresses(of host: String) throws(ResolutionFault) -> [IPAddress]
}

extension HostResolver {
    /// The addresses of a host, which may be an address itself: then nobody is asked.
    func addresses(ofHost host: String) throws(ResolutionFault) -> [IPAddress] {
        if let address = IPAddress(host) { return [address] }
        return try addresses(of: host)
    }
}

/// A name has no address now.
struct ResolutionFault: Error, Equatable, CustomStringConvertible {
    let description: String
}

/// Asks the system.
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
