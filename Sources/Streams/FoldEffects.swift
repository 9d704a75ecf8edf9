import EventLog

/// What folding a batch did, for every stream alike. The stream's own aggregates lie beside it.
package struct FoldEffects {
    /// How far the partitions of the batch have come.
    package private(set) var progress: [PartitionProgress] = []
    /// What became of the records.
    package let outcomes = DeltaTable<OutcomeKey>()
    /// The records that are kept instead of counted.
    package private(set) var refused: [RefusedRecord] = []
    /// What memory answered about records, where that was not that nothing is known.
    package private(set) var recollections: [Recollection] = []
    /// Where the records of each hour lie.
    package var hours: [HourStretch] { hourStretches.all }
    /// The texts of all keys.
    package var symbols = SymbolTable()

    private let topic: String
    private var topicSymbol: Symbol
    private var hourStretches = HourStretches()

    /// Makes effects of nothing, for records of a topic.
    package init(topic: String) {
        self.topic = topic
        topicSymbol = symbols.intern(topic)
    }

    /// Forgets the batch, and the texts when there are many.
    ///
    /// - Returns: whether the symbols stay valid.
    package mutating func removeAll() -> Bool {
        let keepsSymbols = !symbols.isLarge
        progress.removeAll(keepingCapacity: true)
        outcomes.removeAll(keepingRows: keepsSymbols)
        refused.removeAll(keepingCapacity: true)
        recollections.removeAll(keepingCapacity: true)
        hourStretches.removeAll()
        if !keepsSymbols {
            symbols.removeAll()
            topicSymbol = symbols.intern(topic)
        }
        return keepsSymbols
    }

    /// Moves a partition on behind a record.
    mutating func advance(_ record: RecordView, in hour: Hour, watermarkMilliseconds: Int64) {
        let next = record.offset + 1
        hourStretches.add(partition: record.partition, hour: hour, offset: record.offset)
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

    /// Counts what became of a record.
    @inline(__always)
    mutating func count(_ outcome: Outcome, at place: RecordPlace, type: StaticString) {
        let key = OutcomeKey(topic: topicSymbol, type: symbols.intern(type))
        outcomes.count(outcome, row: outcomes.row(key, at: place))
    }

    /// Notes what memory answered about a record.
    mutating func note(_ answers: [UInt8], about place: RecordPlace) {
        recollections.append(
            Recollection(partition: place.partition, offset: place.offset, answers: answers))
    }

    /// Keeps a record.
    mutating func refuse(_ record: RefusedRecord) {
        refused.append(record)
    }
}
