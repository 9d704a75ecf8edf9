extension UnsafeRawBufferPointer {
    /// True when both hold the same bytes.
    ///
    /// Texts are short and mostly equal where they are compared, so it goes eight bytes at a time; the
    /// last step overlaps the one before it.
    @inline(__always)
    package func equals(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        if count >= 8 { return equals(other, by: UInt64.self) }
        if count >= 4 { return equals(other, by: UInt32.self) }
        for index in 0..<count where self[index] != other[index] { return false }
        return true
    }

    /// Both have the same count, which is at least a word's.
    @inline(__always)
    private func equals<Word: FixedWidthInteger & BitwiseCopyable>(
        _ other: UnsafeRawBufferPointer, by: Word.Type
    ) -> Bool {
        let last = count - MemoryLayout<Word>.size
        var start = 0
        while start < last {
            guard isWord(at: start, sameIn: other, Word.self) else { return false }
            start += MemoryLayout<Word>.size
        }
        return isWord(at: last, sameIn: other, Word.self)
    }

    @inline(__always)
    private func isWord<Word: FixedWidthInteger & BitwiseCopyable>(
        at start: Int, sameIn other: UnsafeRawBufferPointer, _: Word.Type
    ) -> Bool {
        loadUnaligned(fromByteOffset: start, as: Word.self)
            == other.loadUnaligned(fromByteOffset: start, as: Word.self)
    }
}
