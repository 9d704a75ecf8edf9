/// Records read together, with the bytes that they borrow.
///
/// A reader fills it, one consumer works it off, and it is filled again: its memory is reused. It is
/// not shared between threads while it is being filled.
package final class RecordBatch {
    private struct Entry {
        var partition: Int32
        var offset: Int64
        var timestampMilliseconds: Int64
        var key: UnsafeRawBufferPointer?
        var headers: RecordHeaders
        var value: UnsafeRawBufferPointer?
    }

    private var entries: [Entry] = []
    private var chunks: [UnsafeMutableRawBufferPointer] = []
    private var currentChunk = 0
    private var used = 0
    private var largeBlocks: [UnsafeMutableRawBufferPointer] = []
    /// What keeps the bytes of borrowed records in place.
    private var owner: AnyObject?

    /// Size of the memory chunks that bytes are copied into and that are kept for reuse.
    private static let chunkBytes = 1 << 20
    /// A key, headers or value longer than this gets a block of its own, so that chunks fill up well.
    private static let largeBytes = chunkBytes / 4

    /// Sum of the lengths of all keys, copied headers and values in the batch.
    package private(set) var byteCount = 0

    /// Makes an empty batch.
    package init() {}

    deinit {
        for chunk in chunks { chunk.deallocate() }
        for block in largeBlocks { block.deallocate() }
    }

    /// Number of records in the batch.
    package var count: Int { entries.count }

    /// True when the batch holds no record.
    package var isEmpty: Bool { entries.isEmpty }

    /// The record at a position from 0 to `count - 1`.
    package subscript(index: Int) -> RecordView {
        let entry = entries[index]
        return RecordView(
            partition: entry.partition,
            offset: entry.offset,
            timestampMilliseconds: entry.timestampMilliseconds,
            key: entry.key,
            headers: entry.headers,
            value: entry.value
        )
    }

    /// Partition and offset of the record at a position.
    package func position(_ index: Int) -> (partition: Int32, offset: Int64) {
        (entries[index].partition, entries[index].offset)
    }

    /// Timestamp of the record at a position, in milliseconds since 1970.
    package func timestampMilliseconds(_ index: Int) -> Int64 {
        entries[index].timestampMilliseconds
    }

    /// Forgets all records; views into the batch are no longer valid. The memory is kept for reuse,
    /// but for blocks that were made for one long value.
    package func removeAll() {
        entries.removeAll(keepingCapacity: true)
        for block in largeBlocks { block.deallocate() }
        largeBlocks.removeAll()
        currentChunk = 0
        used = 0
        byteCount = 0
        owner = nil
    }

    /// Forgets one record; those behind it move up.
    package func remove(at index: Int) {
        let entry = entries.remove(at: index)
        byteCount -= (entry.key?.count ?? 0) + (entry.value?.count ?? 0)
    }

    /// Forgets the records that lie where `isUnwanted` says; those behind them move up.
    package func removeAll(where isUnwanted: (_ partition: Int32, _ offset: Int64) -> Bool) {
        entries.removeAll { entry in
            guard isUnwanted(entry.partition, entry.offset) else { return false }
            byteCount -= (entry.key?.count ?? 0) + (entry.value?.count ?? 0)
            return true
        }
    }

    /// Copies a record into the batch. `headers` are in the form of `RecordHeaders`.
    package func append(
        partition: Int32,
        offset: Int64,
        timestampMilliseconds: Int64,
        key: UnsafeRawBufferPointer?,
        headers: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer?
    ) {
        byteCount += (key?.count ?? 0) + headers.count + (value?.count ?? 0)
        entries.append(
            Entry(
                partition: partition,
                offset: offset,
                timestampMilliseconds: timestampMilliseconds,
                key: key.map(keep),
                headers: RecordHeaders(encoded: keep(headers)),
                value: value.map(keep)
            )
        )
    }

    /// Adds a record whose bytes lie elsewhere: the batch keeps what owns them until `removeAll`.
    package func append(borrowed record: RecordView, from owner: AnyObject) {
        self.owner = owner
        byteCount += (record.key?.count ?? 0) + (record.value?.count ?? 0)
        entries.append(
            Entry(
                partition: record.partition,
                offset: record.offset,
                timestampMilliseconds: record.timestampMilliseconds,
                key: record.key,
                headers: record.headers,
                value: record.value
            )
        )
    }

    /// Copies bytes into memory that does not move until `removeAll`.
    private func keep(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard bytes.count > 0 else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        let place = bytes.count > Self.largeBytes ? ownBlock(bytes.count) : room(bytes.count)
        place.copyMemory(from: bytes)
        return UnsafeRawBufferPointer(place)
    }

    private func ownBlock(_ byteCount: Int) -> UnsafeMutableRawBufferPointer {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)
        largeBlocks.append(block)
        return block
    }

    /// The next free bytes of the current chunk, or of the one after it.
    private func room(_ byteCount: Int) -> UnsafeMutableRawBufferPointer {
        if currentChunk < chunks.count, used + byteCount > Self.chunkBytes {
            currentChunk += 1
            used = 0
        }
        if currentChunk == chunks.count {
            chunks.append(.allocate(byteCount: Self.chunkBytes, alignment: 16))
        }
        defer { used += byteCount }
        return UnsafeMutableRawBufferPointer(
            rebasing: chunks[currentChunk][used..<used + byteCount]
        )
    }
}
