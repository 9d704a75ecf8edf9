/// Where the records of an hour lie in a partition: between two offsets, with others among them where
/// timestamps are not in order.
package struct HourStretch: Equatable, Sendable {
    /// The partition.
    package var partition: Int32
    /// The hour of the records' timestamps.
    package var hour: Hour
    /// Offset of the first of them.
    package var firstOffset: Int64
    /// Offset of the last of them.
    package var lastOffset: Int64
    /// How many there are.
    package var records: Int64

    /// Describes a stretch.
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

/// The stretches that a batch touches, each once.
struct HourStretches {
    private struct Place: Hashable {
        var partition: Int32
        var hour: Hour
    }

    private(set) var all: [HourStretch] = []
    private var places: [Place: Int] = [:]
    // Most records are of the hour of the one before.
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
        let place = Place(partition: partition, hour: hour)
        if let index = places[place] {
            last = index
            all[index].lastOffset = offset
            all[index].records += 1
        } else {
            last = all.count
            places[place] = last
            all.append(
                HourStretch(
                    partition: partition, hour: hour, firstOffset: offset, lastOffset: offset,
                    records: 1))
        }
    }

    mutating func removeAll() {
        all.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
        last = 0
    }
}
