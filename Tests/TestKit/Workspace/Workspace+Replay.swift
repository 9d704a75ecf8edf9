import ConfigurationFiles
import ConfigurationValues
import Engine
import EventLog
import Foundation
import History
import Program
import Store
import Streams

extension Workspace {
    package func source(archive: String? = nil, log: LogAddress? = nil) -> ReplaySource {
        ReplaySource(
            log: log ?? logAddress, archivePath: archive.map { "\(path)/\($0)" },
            pipelines: PipelineDirectory(pipelines))
    }

    package func order(
        into directory: String = "set", mode: ReplayMode = .recorded,
        range: ReplayRange = ReplayRange(), batchRecords: Int? = nil, threadCount: Int = 2,
        archive: String? = nil, log: LogAddress? = nil, data: String = "data"
    ) -> ReplayOrder {
        ReplayOrder(
            source: source(archive: archive, log: log), dataDirectories: ["\(path)/\(data)"],
            directory: "\(path)/\(directory)", range: range, mode: mode,
            batchRecords: batchRecords, threadCount: threadCount)
    }

    @discardableResult
    package func replay(
        _ topics: [String], _ order: ReplayOrder
    ) throws -> (streams: [ReplayedStream], isDone: Bool) {
        try ReplayRun(order, topics: topics).replay(follows: false, stop: StopSignal())
    }

    package func promotion(
        _ target: PromotionOrder.Target, acceptsLostHistory: Bool = false,
        sendsCorrections: Bool = false, patienceSeconds: Int = 30, data: String = "data"
    ) throws -> Promotion {
        try Promotion(
            PromotionOrder(
                data: "\(path)/\(data)", target: target, source: source(),
                acceptsLostHistory: acceptsLostHistory, sendsCorrections: sendsCorrections,
                threadCount: 2, patienceSeconds: patienceSeconds))
    }

    @discardableResult
    package func promote(_ set: String = "set") throws -> [PromotedStream] {
        try promotion(.directory("\(path)/\(set)")).run(stop: StopSignal())
    }

    /// The directory whose store of a stream is in force, relative to the workplace.
    package func inForce(_ stream: String) throws -> String {
        let directory = try PromotionJournal(directory: "\(path)/data").directory(of: stream)
        return String(directory.dropFirst(path.count + 1))
    }

    /// The corrections beside the stores of a set, the unchanged ones left out.
    package func corrections(_ set: String = "set") throws -> [Correction] {
        var corrections: [Correction] = []
        let kinds = Set(Correction.Kind.allCases).subtracting([.unchanged])
        try CorrectionStore(directory: "\(path)/\(set)")?.forEach(kinds: kinds) { _, correction in
            corrections.append(correction)
        }
        return corrections
    }

    @discardableResult
    package func sendCorrections(
        _ set: String = "set", onPiece: () throws -> Void = {}
    ) throws -> Int {
        try CorrectionSending(directory: "\(path)/\(set)", data: "\(path)/data", source: source())
            .run(stop: StopSignal(), onPiece: onPiece)
    }
}

/// Stands for a crash.
package struct Crash: Error { package init() {} }
