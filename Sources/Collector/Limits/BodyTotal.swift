import ConfigurationFiles
import NIOCore
import Synchronization

/// Counts the bytes of all bodies that are being received or answered, in total and by address, so that no address
/// uses up the share of others.
final class BodyTotal: Sendable {
    private struct Counts {
        var all = 0
        var byAddress: [String: Int] = [:]
    }

    private let maxCount: Int
    private let maxCountOfAddress: Int
    private let counts = Mutex(Counts())

    /// An address may hold a quarter of the total, and at least one body of the maximum length.
    init(_ limits: CollectorLimits) {
        maxCount = limits.maxBodyBytesInFlight
        maxCountOfAddress = max(maxCount / 4, limits.maxBodyBytes, limits.maxBatchBytes)
    }

    /// Returns false and adds nothing if a sum would exceed its bound.
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

    /// Adds a part. Returns the refusal if the body is not acceptable.
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
