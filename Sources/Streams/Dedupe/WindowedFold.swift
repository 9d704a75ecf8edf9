import ConfigurationValues
import EventLog
import JSON

/// A fold that remembers ids in memory for a window of event time. A stream adds the meaning of its types.
package protocol WindowedFold: StreamFold where State == WindowedState {
    associatedtype Rules = WindowedRules

    init(topic: String, rules: WindowedRules, parser: JSONParser)

    /// Decodes a record and, unless all its ids were seen earlier, adds it to the stream's tables.
    ///
    /// - Returns: false for a duplicate.
    /// - Throws: the reason for a rejection; ids of a rejected record are not remembered.
    func count(
        _ value: JSONValue, of kind: Kind, at position: FoldPosition
    ) throws(Rejection) -> Bool
}

extension WindowedFold where Rules == WindowedRules {
    package static func rules(
        in pipelines: PipelineDirectory
    ) throws(ConfigurationError) -> WindowedRules {
        WindowedRules(stream: streamName, try file(in: pipelines))
    }

    package static func make(
        _ rules: WindowedRules, topic: String, memory: any FoldMemory, threadCount: Int
    ) throws -> Self {
        try Self(topic: topic, rules: rules, parser: .make())
    }
}

extension WindowedFold {
    package var windows: [Int32: DedupeWindow] { state.windows }

    package func windowIDs(atMost bound: Int) -> Int {
        let held = windows.values.reduce(0) { $0 + $1.heldCount }
        return held <= bound ? held : windows.values.reduce(0) { $0 + $1.sweep() }
    }

    package func take(
        _ record: RecordView, at position: FoldPosition, of prepared: Prepared
    ) -> (Outcome, StaticString) {
        let envelope = Envelope<Kind>(record)
        do throws(Rejection) {
            let value = try envelope.value(
                of: record, parser: state.parser,
                maxRecordBytes: state.rules.maxRecordBytes)
            let isNew = try count(value, of: envelope.type ?? .byDefault, at: position)
            state.rememberAnswers(at: position)
            return (isNew ? .accepted : .duplicates, envelope.countedType)
        } catch {
            refuse(record, at: position, .rejected(error))
            return (.rejected, envelope.countedType)
        }
    }
}

/// The state of a fold with a dedupe window: the effects of the batch, and each partition's recently seen ids.
package final class WindowedState: FoldState {
    package var effects: FoldEffects
    package var recalled: RecalledMemory?
    package private(set) var windows: [Int32: DedupeWindow] = [:]
    /// The new ids of windows that now belong to another fold, still to be stored.
    private var handedOver: [Int32: (admitted: [DedupeWindow.Entry], horizonMilliseconds: Int64)] =
        [:]

    let rules: WindowedRules
    let parser: JSONParser
    /// The window of the current record's partition.
    private var window: DedupeWindow
    private var timestampMilliseconds: Int64 = 0
    /// The number of ids that the window had admitted before the current record.
    private var admittedBefore = 0
    /// The window's answers about the current record.
    private var answers = WindowAnswers()

    init(topic: String, rules: WindowedRules, parser: JSONParser) {
        self.rules = rules
        self.parser = parser
        effects = FoldEffects(topic: topic)
        window = DedupeWindow(windowMilliseconds: rules.dedupeWindowMilliseconds)
    }

    package func restore(
        partition: Int32, watermarkMilliseconds: Int64, from memory: any FoldMemory
    ) throws {
        restore(
            partition: partition, watermarkMilliseconds: watermarkMilliseconds,
            entries: try memory.windowEntries(of: partition))
    }

    package func restore(
        partition: Int32, watermarkMilliseconds: Int64, entries: [DedupeWindow.Entry]
    ) {
        let window = DedupeWindow(
            windowMilliseconds: rules.dedupeWindowMilliseconds,
            watermarkMilliseconds: watermarkMilliseconds)
        for entry in entries { window.restore(entry) }
        windows[partition] = window
    }

    package func forget(partition: Int32) {
        windows[partition] = nil
    }

    @inline(__always)
    package func advance(_ record: RecordView, to position: FoldPosition) {
        timestampMilliseconds = position.timestampMilliseconds
        window = window(of: position.partition)
        window.advance(to: timestampMilliseconds)
        admittedBefore = window.admitted.count
        effects.advance(
            record, in: position.hour, watermarkMilliseconds: window.watermarkMilliseconds)
        answers.removeAll()
        if let recalled {
            answers =
                recalled.answers(about: position).flatMap { WindowAnswers($0) } ?? WindowAnswers()
        }
    }

    /// Returns whether an id of the current record is new, and remembers it. A stream must not reject a record after
    /// this call.
    @inline(__always)
    func admit(_ id: RecordID) -> Bool {
        guard recalled == nil else { return answers.recallIsNew() }
        let isNew = window.admit(id, timestampMilliseconds: timestampMilliseconds)
        answers.append(isNew: isNew)
        return isNew
    }

    /// Records the window's answers about the current record.
    @inline(__always)
    func rememberAnswers(at position: FoldPosition) {
        if !answers.isEmpty { effects.remember(answers.bytes, about: position) }
    }

    package func write(to writer: any FoldMemoryWriter) throws {
        for progress in effects.progress {
            if let (admitted, horizon) = handedOver[progress.partition] {
                try writer.append(admitted, horizonMilliseconds: horizon, at: progress)
            } else if let window = windows[progress.partition] {
                try writer.append(
                    window.admitted, horizonMilliseconds: window.horizonMilliseconds, at: progress)
            }
        }
    }

    /// Gives the windows to the fold that goes on, and keeps the effects, which are still to be stored.
    func handOver(to next: WindowedState) {
        for progress in effects.progress {
            guard let window = windows[progress.partition] else { continue }
            handedOver[progress.partition] = (window.takeAdmitted(), window.horizonMilliseconds)
        }
        next.windows = windows
        windows = [:]
    }

    package func takeBackLast() {
        for entry in window.admitted[admittedBefore...] { window.remove(entry.id) }
    }

    package func clear() -> Bool {
        for window in windows.values { window.forgetAdmitted() }
        handedOver.removeAll()
        admittedBefore = 0
        return effects.removeAll()
    }

    private func window(of partition: Int32) -> DedupeWindow {
        if let window = windows[partition] { return window }
        let window = DedupeWindow(windowMilliseconds: rules.dedupeWindowMilliseconds)
        windows[partition] = window
        return window
    }
}

/// A dedupe window's answers about one record: the indices of the ids that were seen earlier, in the order of lookups.
struct WindowAnswers: Equatable, Sendable {
    /// Indices of the ids that were seen earlier, in order.
    private(set) var seenIndices: [Int] = []
    private var next = 0

    init() {}

    /// Reads the content of `bytes`; nil for invalid bytes.
    init?(_ answers: [UInt8]) {
        var reader = AnswerReader(answers)
        while !reader.isAtEnd {
            guard let index = reader.number() else { return nil }
            seenIndices.append(Int(truncatingIfNeeded: index))
        }
    }

    var isEmpty: Bool { seenIndices.isEmpty }

    var bytes: [UInt8] {
        var writer = AnswerWriter()
        for index in seenIndices { writer.add(index) }
        return writer.bytes
    }

    @inline(__always)
    mutating func append(isNew: Bool) {
        if !isNew { seenIndices.append(next) }
        next += 1
    }

    /// Whether the next id was new at its first lookup.
    mutating func recallIsNew() -> Bool {
        defer { next += 1 }
        return !seenIndices.contains(next)
    }

    @inline(__always)
    mutating func removeAll() {
        if !seenIndices.isEmpty { seenIndices.removeAll(keepingCapacity: true) }
        next = 0
    }
}
