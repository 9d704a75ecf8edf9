import Pipelines

/// The proxies whose word is taken for the address of a client.
struct TrustedProxies: Sendable {
    private let ranges: [AddressRange]

    init(_ ranges: [AddressRange]) {
        self.ranges = ranges
    }

    /// Whether an address is a proxy's.
    func contains(_ address: String) -> Bool {
        guard !ranges.isEmpty, let address = AddressRange.bytes(of: address) else { return false }
        return ranges.contains { $0.contains(address) }
    }

    /// The client's address: that of the connection unless it is a proxy's, else the last one that
    /// `X-Forwarded-For` names and that is no proxy's.
    func client(of peer: String, forwardedFor: String?) -> String {
        guard contains(peer), let forwardedFor else { return peer }
        for part in forwardedFor.split(separator: ",").reversed() {
            let address = part.trimmed
            guard AddressRange.bytes(of: address) != nil else { return peer }
            if !contains(address) { return address }
        }
        return peer
    }
}

extension Substring {
    /// Without spaces and tabs around it.
    var trimmed: String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        var text = drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return String(text)
    }
}
