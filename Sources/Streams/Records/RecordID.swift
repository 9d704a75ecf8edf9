import Crypto
import EventLog

/// The identity of an event: the first 128 bits of SHA-256 over a tuple.
///
/// The hash is collision-resistant because ids are external data: an event cannot be forged as a duplicate of another.
package struct RecordID: Hashable, Comparable, Sendable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package static func < (left: RecordID, right: RecordID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }

    /// 32 digits.
    package var hexDigits: String {
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { $0.hexDigits }
    }
}

/// Builds the tuple of an id: each part follows its length, so that different tuples give different bytes.
struct RecordIDBuilder: ~Copyable {
    private var bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 256, alignment: 8)
    private var count = 0

    deinit { bytes.deallocate() }

    @inline(__always)
    mutating func begin() { count = 0 }

    @inline(__always)
    mutating func add(_ part: UnsafeRawBufferPointer) {
        let start = count + 4
        let end = start + part.count
        if end > bytes.count { grow(to: end) }
        let length = UInt32(truncatingIfNeeded: part.count).littleEndian
        bytes.storeBytes(of: length, toByteOffset: count, as: UInt32.self)
        UnsafeMutableRawBufferPointer(rebasing: bytes[start..<end]).copyMemory(from: part)
        count = end
    }

    /// Adds a text with its ASCII letters in lower case.
    mutating func addLowercased(_ part: UnsafeRawBufferPointer) {
        add(part)
        for index in count - part.count..<count { bytes[index] = bytes[index].asciiLowercased }
    }

    @inline(__always)
    mutating func add(_ part: StaticString) {
        add(UnsafeRawBufferPointer(start: part.utf8Start, count: part.utf8CodeUnitCount))
    }

    @inline(__always)
    mutating func add(_ number: Int64) {
        withUnsafeBytes(of: number.littleEndian) { add($0) }
    }

    @inline(__always)
    func finish() -> RecordID {
        var hash = SHA256()
        hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        return hash.finalize().withUnsafeBytes { digest in
            RecordID(
                high: UInt64(bigEndian: digest.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: digest.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }

    private mutating func grow(to wanted: Int) {
        let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: wanted * 2, alignment: 8)
        larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        bytes.deallocate()
        bytes = larger
    }
}

/// The place and time where a record counts.
package struct FoldPosition {
    /// The record's index in the folded batch.
    package var index: Int
    package var partition: Int32
    package var offset: Int64
    /// The timestamp in milliseconds since 1970; earlier ones count as 0.
    package var timestampMilliseconds: Int64
    package var hour: Hour

    @inline(__always)
    init(_ record: RecordView, index: Int) {
        self.init(
            index: index, partition: record.partition, offset: record.offset,
            timestampMilliseconds: record.timestampMilliseconds)
    }

    @inline(__always)
    package init(
        index: Int = 0, partition: Int32, offset: Int64, timestampMilliseconds: Int64 = 0
    ) {
        self.index = index
        self.partition = partition
        self.offset = offset
        self.timestampMilliseconds = max(timestampMilliseconds, 0)
        hour = Hour(containing: self.timestampMilliseconds)
    }
}
