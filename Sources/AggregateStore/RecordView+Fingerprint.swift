import Crypto
import EventLog

extension RecordView {
    /// Tells this record from another one at the same offset: the first 16 bytes of SHA-256 over
    /// timestamp, key and value, each with its length, in hex.
    package var fingerprint: String {
        var hash = SHA256()
        withUnsafeBytes(of: timestampMilliseconds.littleEndian) { hash.update(bufferPointer: $0) }
        for part in [key, value] {
            let length = Int64(part?.count ?? -1)
            withUnsafeBytes(of: length.littleEndian) { hash.update(bufferPointer: $0) }
            if let part { hash.update(bufferPointer: part) }
        }
        return hash.finalize().prefix(16).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}
