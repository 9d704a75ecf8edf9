import Foundation

/// A range of IP addresses, such as `10.0.0.0/8`, `2001:db8::/32` or a single address.
package struct AddressRange: Equatable, Sendable {
    private let prefix: [UInt8]
    private let bitCount: Int

    /// Nil if the text is not a range. Bits after the prefix length are ignored.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let bytes = Self.bytes(of: String(parts[0])) else {
            return nil
        }
        var bitCount = bytes.count * 8
        if parts.count == 2 {
            guard let count = Int(parts[1]), (0...bitCount).contains(count),
                String(count) == parts[1]
            else { return nil }
            bitCount = count
        }
        prefix = bytes
        self.bitCount = bitCount
    }

    /// The 4 or 16 bytes of an address; nil if the text is not an address. An IPv4 address that is mapped into IPv6
    /// has 4.
    package static func bytes(of text: String) -> [UInt8]? {
        var short = in_addr()
        if inet_pton(AF_INET, text, &short) == 1 { return withUnsafeBytes(of: short) { Array($0) } }
        var long = in6_addr()
        guard inet_pton(AF_INET6, text, &long) == 1 else { return nil }
        let bytes = withUnsafeBytes(of: long) { Array($0) }
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        return bytes.starts(with: mapped) ? Array(bytes[mapped.count...]) : bytes
    }

    /// `address` as `bytes(of:)` returns it.
    package func contains(_ address: [UInt8]) -> Bool {
        guard address.count == prefix.count else { return false }
        let whole = bitCount / 8
        guard address[..<whole] == prefix[..<whole] else { return false }
        let rest = bitCount % 8
        return rest == 0 || (address[whole] ^ prefix[whole]) >> (8 - rest) == 0
    }
}
