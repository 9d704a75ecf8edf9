import EventLog

/// Distinct records of a stream in time order.
protocol SampleRecords {
    /// Numbers and pseudo-random choices, the same in every run.
    var choices: SampleChoices { get set }
    /// The next record: its value, and its type unless it is the topic's default.
    mutating func next() -> (type: String?, value: String)
}

extension SampleRecords {
    mutating func fill(_ batch: RecordBatch, count: Int) {
        batch.removeAll()
        for _ in 0..<count {
            let (type, value) = next()
            let headers = type.map { RecordHeaders.encode([.init("ce_type", $0)]) } ?? []
            let (partition, offset, timestamp) = choices.position()
            Array(value.utf8).withUnsafeBytes { value in
                headers.withUnsafeBytes { headers in
                    batch.append(
                        partition: partition, offset: offset, timestampMilliseconds: timestamp,
                        key: nil, headers: headers, value: value)
                }
            }
        }
    }
}

/// Generates the varying values of samples.
struct SampleChoices {
    private(set) var number: UInt64 = 0
    private var state: UInt64 = 0x5EED
    private var offsets: [Int32: Int64] = [:]
    private let partitions: Int32
    /// Records in an hour of event time.
    private let recordsAnHour: Double
    private let startMilliseconds: Int64 = 1_795_219_200_000

    init(partitions: Int32 = 4, recordsAnHour: Double = 500_000) {
        self.partitions = partitions
        self.recordsAnHour = recordsAnHour
    }

    /// The choices of one record, which follow from its number.
    init(from number: UInt64) {
        self.init()
        self.number = number
        state ^= number &* 0x9E37_79B9_7F4A_7C15
        state = (state ^ state >> 29) &* 0xBF58_476D_1CE4_E5B9
    }

    /// Advances to the next record; returns its id.
    mutating func nextID() -> String {
        number += 1
        return "\(String(number &* 0x9E37_79B9_7F4A_7C15, radix: 16))-\(number)"
    }

    mutating func random(below bound: UInt64) -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state >> 33) % bound
    }

    /// The position and the timestamp of the record.
    mutating func position() -> (partition: Int32, offset: Int64, timestampMilliseconds: Int64) {
        let partition = Int32((number - 1) % UInt64(partitions))
        let offset = offsets[partition, default: 0]
        offsets[partition] = offset + 1
        let timestamp = startMilliseconds + Int64(Double(number - 1) * 3_600_000 / recordsAnHour)
        return (partition, offset, timestamp)
    }
}
