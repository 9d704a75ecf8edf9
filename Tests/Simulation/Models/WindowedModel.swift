/// An event whose ids are remembered for a time.
protocol WindowedEvent {
    /// The ids that the event is known by: tuples, whose first element is the type. Only a record of listings has
    /// several.
    var ids: [[String]] { get }

    /// - Parameter fresh: indices of the ids that were not seen before; never empty.
    func add(fresh: [Int], hour: String, to rows: inout ModelRows)
}

/// A stream whose ids are remembered for a time, and whose fold needs no other memory.
protocol WindowedModel: EventModel where Event: WindowedEvent {
    static var windowMilliseconds: Int64 { get }
}

extension WindowedModel {
    static func rows(of records: [LoggedMeaning<Meaning>]) -> ModelRows {
        var rows = ModelRows()
        for (_, partition) in Dictionary(grouping: records, by: \.partition) {
            fold(partition, into: &rows)
        }
        return rows
    }

    private static func fold(_ records: [LoggedMeaning<Meaning>], into rows: inout ModelRows) {
        // Texts are compared as bytes: Swift's strings are equal when they look equal.
        var firstSeen: [[[UInt8]]: Int64] = [:]
        var watermark = Int64.min
        var window = windowMilliseconds
        for record in records {
            let windowNow = record.windowMilliseconds ?? windowMilliseconds
            if windowNow > window {
                // What was dead stays dead.
                firstSeen = firstSeen.filter { $0.value >= watermark - window }
            }
            window = windowNow
            let timestamp = max(record.timestampMilliseconds, 0)
            watermark = max(watermark, timestamp)
            let hour = hourText(timestamp)
            var outcome = "rejected"
            switch record.meaning.content {
            case .rejected(let reason): rows.refuse(record, reason.rawValue)
            case .event(let event):
                let ids = event.ids.map { $0.map { Array($0.utf8) } }
                // Within a record an id counts once, also when the record is so late that the id is dead at once.
                let fresh = ids.indices.filter { index in
                    let isAlive = firstSeen[ids[index]].map { $0 >= watermark - window }
                    return isAlive != true && !ids[..<index].contains(ids[index])
                }
                for index in fresh { firstSeen[ids[index]] = timestamp }
                outcome = fresh.isEmpty ? "duplicates" : "accepted"
                if !fresh.isEmpty { event.add(fresh: fresh, hour: hour, to: &rows) }
            }
            rows.add("outcomes", [hour, stream, outcomeType(of: record.meaning)], [outcome: 1])
        }
    }
}
