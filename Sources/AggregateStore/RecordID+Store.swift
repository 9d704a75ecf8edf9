import Foundation
import Streams

extension RecordID {
    /// The 16 bytes of the id.
    var bytes: Data {
        var bytes = Data(capacity: 16)
        withUnsafeBytes(of: high.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: low.bigEndian) { bytes.append(contentsOf: $0) }
        return bytes
    }

    /// Reads what `bytes` wrote.
    init(bytes: Data) {
        let words = bytes.withUnsafeBytes { bytes in
            (0..<2).map { word in
                bytes.count >= 16
                    ? UInt64(
                        bigEndian: bytes.loadUnaligned(
                            fromByteOffset: word * 8, as: UInt64.self)) : 0
            }
        }
        self.init(high: words[0], low: words[1])
    }
}
