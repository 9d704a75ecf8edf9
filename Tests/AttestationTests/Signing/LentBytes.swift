/// Texts at addresses that stay put for as long as the object lives.
final class LentBytes {
    private var buffers: [UnsafeMutableRawBufferPointer] = []

    func lend(_ text: String) -> UnsafeRawBufferPointer {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: text.utf8.count,
            alignment: 1
        )
        buffer.copyBytes(from: text.utf8)
        buffers.append(buffer)
        return UnsafeRawBufferPointer(buffer)
    }

    deinit { buffers.forEach { $0.deallocate() } }
}
