import ConfigurationValues
import Engine
import EventLog
import Foundation
import JSON
import Program
import Store
import Streams

/// Publishes the corrections of the set of stores in force, each once unless interrupted: then those that may already
/// be in the log are published again, under the same id.
package struct CorrectionSending {
    private static let rowsAtOnce = 100

    private let directory: String
    private let data: String
    private let source: ReplaySource
    private let catalog: Catalog
    private let partnerTopic: EmittedTopic

    /// - Parameters:
    ///   - directory: the set's directory.
    ///   - data: the data directory where it is in force.
    package init(directory: String, data: String, source: ReplaySource) throws {
        self.directory = directory
        self.data = data
        self.source = source
        catalog = source.pipelines.hasAnything ? try source.pipelines.catalog() : Catalog()
        partnerTopic = .partnerPostbacks(named: try source.pipelines.partnerPostbacksTopic())
    }

    /// Publishes due corrections, and returns their number. Ends early if a stop is requested. Until it ends, no
    /// other set can come into force. Throws `notInForce` if another one is.
    ///
    /// - Parameter onPiece: called after each appended chunk, before it is marked as sent; its error ends the sending
    ///   there.
    package func run(stop: StopSignal, onPiece: () throws -> Void = {}) throws -> Int {
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        guard let corrections = try correctionsInForce() else { return 0 }
        var due: [(row: Int64, correction: Correction)] = []
        var sent = 0
        let (topic, partitionCount) = try origin()
        guard let parser = JSONParser() else {
            throw WorkerError.unexpected("no memory for a JSON parser")
        }
        let names = PartnerRecord(
            topic: topic, partnerTopic: partnerTopic.name, catalog: catalog, parser: parser)
        let log = try openLog(topic)
        var writer: (any LogWriter)?
        func send() throws {
            guard !due.isEmpty, !stop.isRequested else { return due.removeAll() }
            // One that may be in the log is completed. Another is skipped if there is a better copy, which the worker
            // may have just published.
            let later = try LaterCopies(directory: directory)
            let late = try due.filter {
                try $0.correction.state == .due && later.has($0.correction)
            }
            try corrections.set(.obsolete, of: late.map(\.row))
            due.removeAll { item in late.contains { $0.row == item.row } }
            guard !due.isEmpty else { return }
            if writer == nil {
                try log.createTopic(
                    partnerTopic.name, partitionCount: partitionCount,
                    settings: partnerTopic.settings)
                writer = try log.writer()
            }
            let rows = due.map(\.row)
            let records = try due.map { try names.record(of: $0.correction) }
            try corrections.set(.sending, of: rows)
            try writer?.append(records, while: { !stop.isRequested })
            try onPiece()
            try corrections.set(.sent, of: rows)
            sent += rows.count
            due.removeAll()
        }
        try corrections.forEach(states: [.due, .sending]) { row, correction in
            due.append((row, correction))
            if due.count >= Self.rowsAtOnce { try send() }
        }
        try send()
        return sent
    }

    private func lock() throws -> StoreLock {
        let path = CorrectionStore.path(in: directory)
        do {
            return try StoreLock(storePath: path)
        } catch StoreError.locked(_, let owner) {
            throw PromotionError.correctionsInUse(path, owner: owner)
        }
    }

    private func correctionsInForce() throws -> CorrectionStore? {
        let sets = try PromotionJournal(settledIn: data)
        guard sets.set(of: emittingStream) == sets.set(at: directory) else {
            throw PromotionError.notInForce(directory)
        }
        return try CorrectionStore(of: emittingStream, in: sets)
    }

    /// The log that the set was folded from: in another log the corrections could not be recognised as such.
    private func openLog(_ topic: String) throws -> any LogBackend {
        let path = "\(directory)/\(emittingStream).sqlite"
        let folded = try StoreReader(path: path).snapshot {
            FoldedLog(store: path, topic: $0.topic, logIdentity: $0.logIdentity)
        }
        let log = try source.openLog()
        let reader = try log.reader(topic: topic, group: nil)
        defer { reader.close() }
        if let refusal = try folded.refusal(of: reader) { throw WorkerError.changed(refusal) }
        return log
    }

    private func origin() throws -> (topic: String, partitionCount: Int32) {
        let reader = try StoreReader(path: "\(directory)/\(emittingStream).sqlite")
        return try reader.snapshot { ($0.topic, try $0.partitionCount()) }
    }
}

/// Documents that a set of stores has published by itself since its promotion.
private final class LaterCopies {
    private let reader: StoreReader
    private var ids: [Int32: Set<String>] = [:]

    init(directory: String) throws(StoreError) {
        reader = try StoreReader(path: "\(directory)/\(emittingStream).sqlite")
    }

    func has(_ correction: Correction) throws -> Bool {
        let partition = correction.postback.partition
        if let ids = ids[partition] { return ids.contains(correction.postback.id) }
        let found = try reader.snapshot {
            try $0.outboxIDs(of: partition, from: correction.boundary)
        }
        ids[partition] = found
        return found.contains(correction.postback.id)
    }
}
