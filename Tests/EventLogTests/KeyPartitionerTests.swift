import Testing

@testable import EventLog

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
