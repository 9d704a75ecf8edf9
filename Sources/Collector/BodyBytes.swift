import NIOCore
import Synchronization

/// A body as it is being received, counted with the bodies of all requests.
struct BodyBytes: ~Copyable {
    private(set) var bytes: [UInt8] = []
    private let total: BodyTotal
    private let maxCount: Int
    private let maxTotal: Int

    /// An empty body that may have so many bytes, and all bodies together so many.
    init(counted total: BodyTotal, maxCount: Int, maxTotal: Int) {
        self.total = total
        self.maxCount = maxCount
        self.maxTotal = maxTotal
    }

    /// Adds a part; says why the body cannot be taken.
    mutating func append(_ part: ByteBuffer) -> CollectorResponse? {
        guard bytes.count + part.readableBytes <= maxCount else {
            return Self.tooLarge(maxCount)
        }
        guard total.add(part.readableBytes, upTo: maxTotal) else {
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
        total.subtract(bytes.count)
    }
}

/// How many bytes the bodies of all requests have that are being received or answered.
final class BodyTotal: Sendable {
    private let byteCount = Atomic<Int>(0)

    /// Adds to the sum unless it would be more than is allowed.
    func add(_ count: Int, upTo maxCount: Int) -> Bool {
        guard byteCount.wrappingAdd(count, ordering: .relaxed).newValue <= maxCount else {
            byteCount.wrappingSubtract(count, ordering: .relaxed)
            return false
        }
        return true
    }

    /// Takes away from the sum.
    func subtract(_ count: Int) {
        byteCount.wrappingSubtract(count, ordering: .relaxed)
    }
}
