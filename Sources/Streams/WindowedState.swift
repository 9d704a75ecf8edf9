import EventLog
import JSON

/// What a fold with a dedupe window holds: what the batch did, and the ids of each partition that were
/// seen lately.
package final class WindowedState {
    /// What the batch did.
    package internal(set) var effects: FoldEffects
    /// The dedupe memory, by partition.
    package private(set) var windows: [Int32: DedupeWindow] = [:]

    let rules: WindowedRules
    let parser: JSONParser
    var batch: RecordBatch?
    /// The memory that the record being folded is held against.
    private var window: DedupeWindow
    private var timestampMilliseconds: Int64 = 0
    /// What the window had admitted before that record.
    private var admittedBefore = 0
    /// What the window answered about that record.
    private var answers = WindowAnswers()
    /// Answers in the place of the windows.
    var recalled: RecalledMemory?

    /// Makes a state without memory; `parser` is its own from now on.
    init(topic: String, rules: WindowedRules, parser: JSONParser) {
        self.rules = rules
        self.parser = parser
        effects = FoldEffects(topic: topic)
        window = DedupeWindow(windowMilliseconds: rules.dedupeWindowMilliseconds)
    }

    func restore(
        partition: Int32, watermarkMilliseconds: Int64, entries: [DedupeWindow.Entry]
    ) {
        let window = DedupeWindow(
            windowMilliseconds: rules.dedupeWindowMilliseconds,
            watermarkMilliseconds: watermarkMilliseconds)
        for entry in entries { window.restore(entry) }
        windows[partition] = window
    }

    func forget(partition: Int32) {
        windows[partition] = nil
    }

    /// Moves on behind a record, which is folded next.
    @inline(__always)
    func advance(_ record: RecordView, to place: RecordPlace) {
        timestampMilliseconds = place.timestampMilliseconds
        window = window(of: place.partition)
        window.advance(to: timestampMilliseconds)
        admittedBefore = window.admitted.count
        effects.advance(
            record, in: place.hour, watermarkMilliseconds: window.watermarkMilliseconds)
        answers.removeAll()
        if let recalled { answers = recalled.answers(at: place) }
    }

    /// Says whether an id of the record being folded is new, and then remembers it. A record that
    /// was given an id is not rejected any more.
    @inline(__always)
    func admit(_ id: RecordID) -> Bool {
        guard recalled == nil else { return answers.recallIsNew() }
        let isNew = window.admit(id, timestampMilliseconds: timestampMilliseconds)
        answers.note(isNew: isNew)
        return isNew
    }

    /// Notes what the window answered about the record being folded.
    @inline(__always)
    func noteAnswers(at place: RecordPlace) {
        if !answers.isEmpty { effects.note(answers.bytes, about: place) }
    }

    /// Forgets the ids of the record that was folded last.
    func takeBackAdmitted() {
        for entry in window.admitted[admittedBefore...] { window.remove(entry.id) }
    }

    /// Forgets the batch.
    ///
    /// - Returns: whether the symbols stay valid.
    func clear() -> Bool {
        for window in windows.values { window.forgetAdmitted() }
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

extension RecalledMemory {
    fileprivate func answers(at place: RecordPlace) -> WindowAnswers {
        answers(partition: place.partition, offset: place.offset).flatMap { WindowAnswers($0) }
            ?? WindowAnswers()
    }
}
