import Synchronization

/// Counts the simultaneous connections or requests of each address.
package final class AddressLimit: Sendable {
    package enum Answer: Equatable, Sendable {
        case within
        /// Answer it with 429.
        case over
        /// Close it without an answer.
        case far
    }

    private let maxCount: Int
    private let maxOpen: Int
    private let counts = Mutex<[String: Int]>([:])

    package init(_ limits: ConnectionLimits) {
        maxCount = limits.maxConnectionsPerAddress
        maxOpen = limits.maxOpenPerAddress
    }

    /// Counts one more. Call `leave` in every case.
    package func enter(_ address: String) -> Answer {
        let count = counts.withLock { counts in
            counts[address, default: 0] += 1
            return counts[address, default: 0]
        }
        return count <= maxCount ? .within : count <= maxOpen ? .over : .far
    }

    package func leave(_ address: String) {
        counts.withLock { counts in
            guard let count = counts[address] else { return }
            counts[address] = count > 1 ? count - 1 : nil
        }
    }
}

/// The proxies with a trusted `X-Forwarded-For`.
package struct TrustedProxies: Sendable {
    private let ranges: [AddressRange]

    package init(_ ranges: [AddressRange]) {
        self.ranges = ranges
    }

    package func contains(_ address: String) -> Bool {
        guard !ranges.isEmpty, let address = AddressRange.bytes(of: address) else { return false }
        return ranges.contains { $0.contains(address) }
    }

    /// The client's address: that of the connection, or for a proxy's connection the last address in
    /// `X-Forwarded-For` that is not a proxy's.
    package func client(of peer: String, forwardedFor: @autoclosure () -> String?) -> String {
        guard contains(peer), let forwardedFor = forwardedFor() else { return peer }
        for part in forwardedFor.split(separator: ",").reversed() {
            let address = part.trimmed
            guard AddressRange.bytes(of: address) != nil else { return peer }
            if !contains(address) { return address }
        }
        return peer
    }
}

extension Substring {
    /// Without spaces and tabs at both ends.
    package var trimmed: String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        var text = drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return String(text)
    }
}
