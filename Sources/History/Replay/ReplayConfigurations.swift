import Store
import Streams

/// The configurations in force, by partition and offset.
enum ReplayConfigurations {
    /// One for everything.
    case one(FoldConfiguration)
    /// Those recorded by live stores; for unknown partitions the other one.
    case recorded(RecordedEpochs, otherwise: FoldConfiguration)
    /// That of each partition's own last epoch; for a partition without one the other one.
    case own(otherwise: FoldConfiguration)

    /// The configuration of the record at an offset, and the offset from which another is in force.
    ///
    /// - Parameter last: the last configuration that the partition was folded under.
    func configuration(
        of partition: Int32, at offset: Int64, last: FoldConfiguration?
    ) -> (configuration: FoldConfiguration, end: Int64?) {
        switch self {
        case .one(let configuration): return (configuration, nil)
        case .own(let otherwise): return (last ?? otherwise, nil)
        case .recorded(let recorded, let otherwise):
            let epochs = recorded.partitions[partition]?.epochs ?? []
            guard let first = epochs.first else { return (otherwise, nil) }
            let epoch = epochs.last { $0.fromOffset <= offset } ?? first
            let next = epochs.first { $0.fromOffset > epoch.fromOffset && $0.fromOffset > offset }
            return (epoch.configuration, next?.fromOffset)
        }
    }
}
