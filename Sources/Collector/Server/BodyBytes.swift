import NIOCore

/// A body as it is being received, counted with the bodies of all requests.
struct BodyBytes: ~Copyable {
    private(set) var bytes: [UInt8] = []
    private let address: String
    private let total: BodyTotal
    private let maxCount: Int

    /// An empty body from an address, that may have so many bytes.
    init(of address: String, counted total: BodyTotal, maxCount: Int) {
        self.address = address
        self.total = total
        self.maxCount = maxCount
    }

    /// Adds a part; says why the body cannot be taken.
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
