/// Records that were read together, with the memory that they borrow.
///
/// A reader fills the batch, one consumer processes it, and the reader fills it again in the same memory. Threads
/// must not share it while a reader fills it.
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
    /// Keeps the bytes of borrowed records alive.
    private var owner: AnyObject?

    /// Size of the reusable chunks of memory.
    private static let chunkBytes = 1 << 20
    /// Longer keys, headers and values get a block of their own, so that chunks fill up well.
    private static let largeBytes = chunkBytes / 4

    /// Total length of all keys, copied headers and values.
    package private(set) var byteCount = 0

    package init() {}

    deinit {
        for chunk in chunks { chunk.deallocate() }
        for block in largeBlocks { block.deallocate() }
    }

    package var count: Int { entries.count }

    package var isEmpty: Bool { entries.isEmpty }

    /// - Parameter index: from 0 to `count - 1`.
    package subscript(index: Int) -> RecordView { Self.view(entries[index]) }

    private static func view(_ entry: Entry) -> RecordView {
        RecordView(
            partition: entry.partition,
            offset: entry.offset,
            timestampMilliseconds: entry.timestampMilliseconds,
            key: entry.key,
            headers: entry.headers,
            value: entry.value
        )
    }

    package func position(_ index: Int) -> (partition: Int32, offset: Int64) {
        (entries[index].partition, entries[index].offset)
    }

    /// The value of a record; nil for a tombstone and beyond the last record.
    package func value(_ index: Int) -> UnsafeRawBufferPointer? {
        index < entries.count ? entries[index].value : nil
    }

    package func timestampMilliseconds(_ index: Int) -> Int64 {
        entries[index].timestampMilliseconds
    }

    /// Removes all records; views into the batch become invalid. Keeps the memory, except blocks for single long
    /// values.
    package func removeAll() {
        entries.removeAll(keepingCapacity: true)
        for block in largeBlocks { block.deallocate() }
        largeBlocks.removeAll()
        currentChunk = 0
        used = 0
        byteCount = 0
        owner = nil
    }

    /// Removes one record; later ones move up.
    package func remove(at index: Int) {
        let entry = entries.remove(at: index)
        byteCount -= (entry.key?.count ?? 0) + (entry.value?.count ?? 0)
    }

    package func removeAll(where isUnwanted: (RecordView) -> Bool) {
        entries.removeAll { entry in
            guard isUnwanted(Self.view(entry)) else { return false }
            byteCount -= (entry.key?.count ?? 0) + (entry.value?.count ?? 0)
            return true
        }
    }

    /// Copies a record into the batch. `headers` are in the encoding of `RecordHeaders`.
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

    /// Adds a record without copying. Until `removeAll` the batch retains `owner`, which holds the bytes.
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
        let copy = bytes.count > Self.largeBytes ? ownBlock(bytes.count) : room(bytes.count)
        copy.copyMemory(from: bytes)
        return UnsafeRawBufferPointer(copy)
    }

    private func ownBlock(_ byteCount: Int) -> UnsafeMutableRawBufferPointer {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)
        largeBlocks.append(block)
        return block
    }

    /// Free bytes in the current chunk, or in the next one.
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

/// One record, its bytes borrowed.
///
/// The buffers belong to the `RecordBatch` that returned the view. They are valid until that batch
/// is filled again or freed.
package struct RecordView {
    package var partition: Int32
    /// Position in the partition, from 0. Offsets grow and may have gaps.
    package var offset: Int64
    /// Milliseconds since 1970 (UTC), as set by the log; -1 if absent.
    package var timestampMilliseconds: Int64
    /// Nil when the record has no key.
    package var key: UnsafeRawBufferPointer?
    package var headers: RecordHeaders
    /// Nil for a tombstone.
    package var value: UnsafeRawBufferPointer?

    /// The bytes must outlive the view.
    package init(
        partition: Int32, offset: Int64, timestampMilliseconds: Int64,
        key: UnsafeRawBufferPointer?, headers: RecordHeaders, value: UnsafeRawBufferPointer?
    ) {
        self.partition = partition
        self.offset = offset
        self.timestampMilliseconds = timestampMilliseconds
        self.key = key
        self.headers = headers
        self.value = value
    }
}
