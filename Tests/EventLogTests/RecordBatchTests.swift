import EventLog
import Testing

@Suite("RecordBatch")
struct RecordBatchTests {
    @Test("keeps large and small records side by side until it is emptied")
    func keepsEverySize() {
        let batch = RecordBatch()
        let sizes = [1, 3 << 20, 0, 200 << 10, 1 << 20, 900 << 10, 7, 300 << 10, 250 << 10]
        for round in 0..<3 {
            batch.removeAll()
            #expect(batch.isEmpty)
            #expect(batch.byteCount == 0)
            for (index, size) in sizes.enumerated() {
                add(filled(size, UInt8(index + round)), at: Int64(index), to: batch)
            }
            #expect(batch.count == sizes.count)
            #expect(batch.byteCount == sizes.reduce(0, +))
            for (index, size) in sizes.enumerated() {
                let view = batch[index]
                #expect(view.offset == Int64(index))
                #expect(view.value.map { Array($0) } == filled(size, UInt8(index + round)))
            }
        }
    }

    @Test("keeps bytes in place while it is filled on")
    func keepsBytesInPlace() {
        let batch = RecordBatch()
        add(Array("first".utf8), at: 0, to: batch)
        let view = batch[0]
        for index in 1..<5000 { add(filled(1500, 1), at: Int64(index), to: batch) }
        #expect(view.value.map { Array($0) } == Array("first".utf8))
    }

    @Test("tells no bytes from none")
    func tellsEmptyFromNone() {
        let batch = RecordBatch()
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        batch.append(
            partition: 0,
            offset: 0,
            timestampMilliseconds: 0,
            key: nil,
            headers: nothing,
            value: nothing
        )
        #expect(batch[0].key == nil)
        #expect(batch[0].value != nil)
        #expect(batch[0].value?.count == 0)
    }

    private func filled(_ size: Int, _ byte: UInt8) -> [UInt8] {
        [UInt8](repeating: byte, count: size)
    }

    private func add(_ value: [UInt8], at offset: Int64, to batch: RecordBatch) {
        value.withUnsafeBytes { bytes in
            batch.append(
                partition: 0,
                offset: offset,
                timestampMilliseconds: 0,
                key: nil,
                headers: UnsafeRawBufferPointer(start: nil, count: 0),
                value: bytes
            )
        }
    }
}
