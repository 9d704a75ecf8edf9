/// What is noted of a dedupe window's answers about one record: which of the ids that it was asked for
/// were seen before, by their places.
package struct WindowAnswers: Equatable, Sendable {
    /// Places of the ids that were seen before, in order.
    package private(set) var seenPlaces: [Int] = []
    private var next = 0

    /// Makes answers of nothing.
    package init() {}

    /// Reads what `bytes` wrote; nil for what is no such thing.
    package init?(_ answers: [UInt8]) {
        var reader = AnswerReader(answers)
        while !reader.isAtEnd {
            guard let place = reader.number() else { return nil }
            seenPlaces.append(Int(truncatingIfNeeded: place))
        }
    }

    var isEmpty: Bool { seenPlaces.isEmpty }

    var bytes: [UInt8] {
        var writer = AnswerWriter()
        for place in seenPlaces { writer.add(place) }
        return writer.bytes
    }

    /// Notes the answer about the next id.
    @inline(__always)
    mutating func note(isNew: Bool) {
        if !isNew { seenPlaces.append(next) }
        next += 1
    }

    /// Whether the next id was new when it was asked for the first time.
    mutating func recallIsNew() -> Bool {
        defer { next += 1 }
        return !seenPlaces.contains(next)
    }

    /// Begins with another record.
    @inline(__always)
    mutating func removeAll() {
        if !seenPlaces.isEmpty { seenPlaces.removeAll(keepingCapacity: true) }
        next = 0
    }
}
