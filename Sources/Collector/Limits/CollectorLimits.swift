import ConfigurationFiles
import NIOCore
import Synchronization

/// Counts the connections or requests that each address has at once.
final class AddressLimit: Sendable {
    private let maxCount: Int
    private let counts = Mutex<[String: Int]>([:])

    init(maxCount: Int) {
        self.maxCount = maxCount
    }

    /// Counts one more, and returns whether that is within the limit. Call `leave` in either case.
    func enter(_ address: String) -> Bool {
        counts.withLock { counts in
            counts[address, default: 0] += 1
            return counts[address, default: 0] <= maxCount
        }
    }

    func leave(_ address: String) {
        counts.withLock { counts in
            guard let count = counts[address] else { return }
            counts[address] = count > 1 ? count - 1 : nil
        }
    }
}

/// The proxies whose `X-Forwarded-For` is believed.
struct TrustedProxies: Sendable {
    private let ranges: [AddressRange]

    init(_ ranges: [AddressRange]) {
        self.ranges = ranges
    }

    func contains(_ address: String) -> Bool {
        guard !ranges.isEmpty, let address = AddressRange.bytes(of: address) else { return false }
        return ranges.contains { $0.contains(address) }
    }

    /// The client's address: that of the connection, unless it is a proxy's; then the last address
    /// in `X-Forwarded-For` that is not a proxy's.
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
    /// Without spaces and tabs at both ends.
    var trimmed: String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        var text = drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return String(text)
    }
}

/// Counts the bytes of all bodies that are being received or answered, in total and by address, so
/// that no address takes what the others need.
final class BodyTotal: Sendable {
    private struct Counts {
        var all = 0
        var byAddress: [String: Int] = [:]
    }

    private let maxCount: Int
    private let maxCountOfAddress: Int
    private let counts = Mutex(Counts())

    /// An address may hold a quarter of the total, and at least one body of the greatest length.
    init(_ limits: CollectorLimits) {
        maxCount = limits.maxBodyBytesInFlight
        maxCountOfAddress = max(maxCount / 4, limits.maxBodyBytes, limits.maxBatchBytes)
    }

    /// False, and nothing is added, when a sum would exceed its bound.
    func add(_ count: Int, of address: String) -> Bool {
        counts.withLock { counts in
            let ofAddress = counts.byAddress[address, default: 0] + count
            guard counts.all + count <= maxCount, ofAddress <= maxCountOfAddress else {
                return false
            }
            counts.all += count
            counts.byAddress[address] = ofAddress
            return true
        }
    }

    func subtract(_ count: Int, of address: String) {
        guard count > 0 else { return }
        counts.withLock { counts in
            counts.all -= count
            let rest = counts.byAddress[address, default: 0] - count
            counts.byAddress[address] = rest > 0 ? rest : nil
        }
    }
}

/// A body that is being received. `total` counts it as long as it lives.
struct BodyBytes: ~Copyable {
    private(set) var bytes: [UInt8] = []
    private let address: String
    private let total: BodyTotal
    private let maxCount: Int

    init(of address: String, counted total: BodyTotal, maxCount: Int) {
        self.address = address
        self.total = total
        self.maxCount = maxCount
    }

    /// Adds a part. Returns the refusal of a body that cannot be taken.
    mutating func append(_ part: ByteBuffer) -> CollectorResponse? {
        guard bytes.count + part.readableBytes <= maxCount else {
            return Self.tooLarge(maxCount)
        }
        guard total.add(part.readableBytes, of: address) else {
            return .refusal(
                503, "too_busy", "too many bodies are being received: try again",
                retryAfterSeconds: 1)
        }
        bytes.append(contentsOf: part.readableBytesView)
        return nil
    }

    static func tooLarge(_ maxCount: Int) -> CollectorResponse {
        .refusal(413, "too_large", "a body may have \(maxCount) bytes")
    }

    deinit {
        total.subtract(bytes.count, of: address)
    }
}
