import EventLog

/// The effects of folding a batch that all streams share. The stream's own aggregates are separate.
package struct FoldEffects {
    package private(set) var progress: [PartitionProgress] = []
    package let outcomes = DeltaTable<OutcomeKey>()
    package private(set) var refused: [RefusedRecord] = []
    /// The results of memory lookups, for records with a match.
    package private(set) var recollections: [Recollection] = []
    package var hours: [HourRange] { hourRanges.all }
    package var symbols = SymbolTable()

    private let topic: String
    private var topicSymbol: Symbol
    private var hourRanges = HourRanges()

    package init(topic: String) {
        self.topic = topic
        topicSymbol = symbols.intern(topic)
    }

    /// Forgets the batch, and the texts if there are many.
    ///
    /// - Returns: whether the symbols stay valid.
    package mutating func removeAll() -> Bool {
        let keepsSymbols = !symbols.isLarge
        progress.removeAll(keepingCapacity: true)
        outcomes.removeAll(keepingRows: keepsSymbols)
        refused.removeAll(keepingCapacity: true)
        recollections.removeAll(keepingCapacity: true)
        hourRanges.removeAll()
        if !keepsSymbols {
            symbols.removeAll()
            topicSymbol = symbols.intern(topic)
        }
        return keepsSymbols
    }

    /// Moves a partition's next offset past a record.
    mutating func advance(_ record: RecordView, in hour: Hour, watermarkMilliseconds: Int64) {
        let next = record.offset + 1
        hourRanges.add(partition: record.partition, hour: hour, offset: record.offset)
        if let last = progress.indices.last(where: { progress[$0].partition == record.partition }) {
            progress[last].nextOffset = next
            progress[last].watermarkMilliseconds = watermarkMilliseconds
            progress[last].records += 1
        } else {
            progress.append(
                PartitionProgress(
                    partition: record.partition, nextOffset: next,
                    watermarkMilliseconds: watermarkMilliseconds, records: 1))
        }
    }

    @inline(__always)
    mutating func count(_ outcome: Outcome, at position: FoldPosition, type: StaticString) {
        let key = OutcomeKey(topic: topicSymbol, type: symbols.intern(type))
        outcomes.count(outcome, row: outcomes.row(key, at: position))
    }

    mutating func remember(_ answers: [UInt8], about position: FoldPosition) {
        recollections.append(
            Recollection(partition: position.partition, offset: position.offset, answers: answers))
    }

    mutating func refuse(_ record: RefusedRecord) {
        refused.append(record)
    }
}

/// The progress of a batch in a partition.
package struct PartitionProgress: Equatable, Sendable {
    package var partition: Int32
    /// Offset of the first record that the batch did not fold.
    package var nextOffset: Int64
    /// The largest record timestamp so far, in milliseconds since 1970.
    package var watermarkMilliseconds: Int64
    package var records: Int64

    package init(
        partition: Int32, nextOffset: Int64, watermarkMilliseconds: Int64, records: Int64
    ) {
        self.partition = partition
        self.nextOffset = nextOffset
        self.watermarkMilliseconds = watermarkMilliseconds
        self.records = records
    }
}

/// The records of an hour in a partition: a range of offsets, which includes other records if timestamps are not in
/// order.
package struct HourRange: Equatable, Sendable {
    package var partition: Int32
    package var hour: Hour
    package var firstOffset: Int64
    package var lastOffset: Int64
    package var records: Int64

    package init(
        partition: Int32, hour: Hour, firstOffset: Int64, lastOffset: Int64, records: Int64
    ) {
        self.partition = partition
        self.hour = hour
        self.firstOffset = firstOffset
        self.lastOffset = lastOffset
        self.records = records
    }
}

/// The ranges that a batch touches, each once.
struct HourRanges {
    private struct PartitionHour: Hashable {
        var partition: Int32
        var hour: Hour
    }

    private(set) var all: [HourRange] = []
    private var indices: [PartitionHour: Int] = [:]
    // Most records have the hour of the previous one.
    private var last = 0

    @inline(__always)
    mutating func add(partition: Int32, hour: Hour, offset: Int64) {
        if last < all.count, all[last].hour == hour, all[last].partition == partition {
            all[last].lastOffset = offset
            all[last].records += 1
        } else {
            addElsewhere(partition: partition, hour: hour, offset: offset)
        }
    }

    private mutating func addElsewhere(partition: Int32, hour: Hour, offset: Int64) {
        let partitionHour = PartitionHour(partition: partition, hour: hour)
        if let index = indices[partitionHour] {
            last = index
            all[index].lastOffset = offset
            all[index].records += 1
        } else {
            last = all.count
            indices[partitionHour] = last
            all.append(
                HourRange(
                    partition: partition, hour: hour, firstOffset: offset, lastOffset: offset,
                    records: 1))
        }
    }

    mutating func removeAll() {
        all.removeAll(keepingCapacity: true)
        indices.removeAll(keepingCapacity: true)
        last = 0
    }
}
