import Testing

@testable import EventLog

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
            partition: 0, offset: 0, timestampMilliseconds: 0, key: nil, headers: nothing,
            value: nothing)
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
                partition: 0, offset: offset, timestampMilliseconds: 0, key: nil,
                headers: UnsafeRawBufferPointer(start: nil, count: 0), value: bytes)
        }
    }
}

@Suite("RecordHeaders")
struct RecordHeadersTests {
    @Test("gives names and values in order, and finds the first of a name")
    func readsWhatWasEncoded() {
        let encoded = RecordHeaders.encode([
            .init("ce_type", "openrtb.win"), .init(name: "none", value: nil),
            .init(name: "", value: []), .init("ce_type", "second"),
        ])
        encoded.withUnsafeBytes { bytes in
            let headers = RecordHeaders(encoded: bytes)
            var names: [String] = []
            headers.forEach { name, _ in
                names.append(String(decoding: name, as: UTF8.self))
                return true
            }
            #expect(names == ["ce_type", "none", "", "ce_type"])
            #expect(headers.first(named: "ce_type").map { Array($0) } == Array("openrtb.win".utf8))
            #expect(headers.first(named: "none") == nil)
            #expect(headers.first(named: "absent") == nil)
        }
    }

    @Test("stops at bytes that are cut off, and reads nothing beyond them")
    func survivesCutBytes() {
        let encoded = RecordHeaders.encode([.init("a", "1"), .init("b", "2")])
        for length in 0..<encoded.count {
            encoded[..<length].withUnsafeBytes { bytes in
                var count = 0
                RecordHeaders(encoded: bytes).forEach { _, _ in
                    count += 1
                    return true
                }
                #expect(count == length / (encoded.count / 2))
            }
        }
    }
}

@Suite("KeyPartitioner")
struct KeyPartitionerTests {
    @Test(
        "hashes as Kafka's own clients do",
        arguments: [
            ("21", -973_932_308), ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            ("abc", 479_470_107),
        ] as [(String, Int32)]
    )
    func hashes(text: String, expected: Int32) {
        let hash = Array(text.utf8).withUnsafeBytes { KeyPartitioner.murmur2($0) }
        #expect(Int32(bitPattern: hash) == expected)
    }

    @Test("takes the hash without its sign, modulo the number of partitions")
    func choosesByPositiveHash() {
        let key = Array("foobar".utf8)
        #expect(KeyPartitioner.partition(key: key, value: nil, partitionCount: 1000) == 166)
        #expect(KeyPartitioner.partition(key: key, value: nil, partitionCount: 1) == 0)
    }

    @Test("goes by the value without a key, and to partition 0 without both")
    func fallsBackToTheValue() {
        let bytes = Array("foobar".utf8)
        #expect(KeyPartitioner.partition(key: nil, value: bytes, partitionCount: 1000) == 166)
        #expect(KeyPartitioner.partition(key: nil, value: nil, partitionCount: 1000) == 0)
    }
}
