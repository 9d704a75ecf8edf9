import Foundation
import Signatures
import Store
import Streams

extension RuleSource {
    /// Creates the fold that a store has recorded.
    ///
    /// - Parameter emitsAll: whether each accepted record has its document for partners; otherwise none has.
    func makeFold(
        stream: String, topic: String, configuration: FoldConfiguration,
        whereRow isWanted: RowFilter?, emitsAll: Bool = false
    ) throws -> any RecordFold {
        guard let definition = Streams.stream(named: stream) else {
            throw ExplanationError.unknownStream(stream)
        }
        return try recalledFold(definition, topic, configuration, isWanted, emitsAll: emitsAll)
    }

    private func recalledFold<Fold: StreamFold>(
        _ stream: Fold.Type, _ topic: String, _ configuration: FoldConfiguration,
        _ isWanted: RowFilter?, emitsAll: Bool
    ) throws -> any RecordFold {
        var rules = try Fold.Rules(recorded: configuration, from: self)
        if emitsAll { rules.emitAll() } else { rules.keepSumsOnly() }
        return RecalledFold(
            try Fold.make(
                rules, topic: topic, memory: RecalledMemory(),
                threadCount: ProcessInfo.processInfo.activeProcessorCount),
            where: isWanted)
    }

    /// The root certificates that match the fingerprints in a recorded configuration.
    func roots(of configuration: FoldConfiguration, stream: String) throws -> [AppStoreRoot] {
        func roots<Fold: StreamFold>(_ stream: Fold.Type) throws -> [AppStoreRoot] {
            try Fold.Rules(recorded: configuration, from: self).roots
        }
        return try Streams.stream(named: stream).map { try roots($0) } ?? []
    }
}
