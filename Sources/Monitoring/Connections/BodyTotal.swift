import HummingbirdCore
import Synchronization

/// Counts the bytes of all bodies that are being received or answered, in total and by address, so that one address
/// cannot exhaust them.
package final class BodyTotal: Sendable {
    private struct Counts {
        var all = 0
        var byAddress: [String: Int] = [:]
    }

    private let maxCount: Int
    private let maxCountOfAddress: Int
    private let counts = Mutex(Counts())

    init(maxCount: Int, maxCountOfAddress: Int) {
        self.maxCount = maxCount
        self.maxCountOfAddress = maxCountOfAddress
    }

    /// Returns false without adding if a sum would exceed its bound.
    fileprivate func add(_ count: Int, of address: String) -> Bool {
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

    fileprivate func subtract(_ count: Int, of address: String) {
        guard count > 0 else { return }
        counts.withLock { counts in
            counts.all -= count
            let rest = counts.byAddress[address, default: 0] - count
            counts.byAddress[address] = rest > 0 ? rest : nil
        }
    }
}

/// The reason why a body is not received completely.
package enum BodyRefusal: Error, Equatable {
    case tooLarge(maxCount: Int)
    /// Too many bodies are being received.
    case tooBusy
}

/// A received body. `total` counts it during its lifetime.
package struct BodyBytes: ~Copyable {
    package private(set) var bytes: [UInt8] = []
    private let address: String
    private let total: BodyTotal

    private init(of address: String, counted total: BodyTotal) {
        self.address = address
        self.total = total
    }

    /// Receives the body of a request. Throws connection errors too.
    package static func receive(
        _ request: Request, from address: String, counted total: BodyTotal, maxCount: Int
    ) async throws -> BodyBytes {
        var body = BodyBytes(of: address, counted: total)
        for try await part in request.body {
            guard body.bytes.count + part.readableBytes <= maxCount else {
                throw BodyRefusal.tooLarge(maxCount: maxCount)
            }
            guard total.add(part.readableBytes, of: address) else { throw BodyRefusal.tooBusy }
            body.bytes.append(contentsOf: part.readableBytesView)
        }
        return body
    }

    deinit {
        total.subtract(bytes.count, of: address)
    }
}
