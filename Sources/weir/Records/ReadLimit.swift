import EventLog
import Streams

/// A place in a topic, as `--from` and `--to` name it.
enum ReadLimit: Equatable {
    /// This offset, in every partition.
    case offset(Int64)
    /// The first record of this time or later, milliseconds since 1970.
    case time(Int64)

    /// Reads an offset in digits, or a time in any other form.
    init(_ text: String, option: String) throws(CommandError) {
        if let offset = Int64(text) {
            guard offset >= 0 else { throw .usage("\(option) \(text): offsets begin with 0") }
            self = .offset(offset)
        } else {
            self = .time(try LogTime.milliseconds(text, option: option))
        }
    }

    /// The offset that it stands for in a partition, within what the partition holds.
    func offset(
        in bounds: PartitionBounds, of reader: any LogReader
    ) throws(LogError) -> Int64 {
        let wanted =
            switch self {
            case .offset(let offset): offset
            case .time(let time):
                try reader.offset(partition: bounds.partition, atOrAfter: time) ?? bounds.endOffset
            }
        return min(max(wanted, bounds.earliestOffset), bounds.endOffset)
    }
}
