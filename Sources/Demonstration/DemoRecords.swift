import EventLog

/// Records of one day, topic by topic.
package struct DemoDay: Sendable {
    package fileprivate(set) var records: [String: [OutgoingRecord]] = [:]

    /// Ordered by time; records of one time in the order in which they were made.
    mutating func sort() {
        for topic in records.keys {
            let order = (records[topic] ?? []).enumerated().sorted {
                ($0.element.timestampMilliseconds ?? 0, $0.offset)
                    < ($1.element.timestampMilliseconds ?? 0, $1.offset)
            }
            records[topic] = order.map(\.element)
        }
    }
}

/// What the demo has made and not handed out yet, day by day: a postback of the third window comes up to 45 days after
/// its install.
struct DemoCalendar {
    private let firstMidnight: Int64
    private let end: Int64
    /// Midnight of the day on which nothing was received.
    private let outage: Int64?
    private var days: [Int: DemoDay] = [:]

    /// Milliseconds since 1970; the end itself is not included.
    init(from firstMidnight: Int64, to end: Int64, outage: Int64?) {
        self.firstMidnight = firstMidnight
        self.end = end
        self.outage = outage
    }

    /// Whether a record of an instant is one of the demo's.
    func contains(_ instant: Int64) -> Bool { (firstMidnight..<end).contains(instant) }

    /// When something is received that is sent at an instant: devices and the App Store repeat what failed a day later.
    private func arrival(of instant: Int64) -> Int64 {
        guard let outage, (outage..<outage + DemoTime.day).contains(instant) else { return instant }
        return instant + DemoTime.day
    }

    /// Adds a record unless it is of another time than the demo's.
    mutating func add(
        _ topic: String, _ type: String, at instant: Int64, id: String, source: String, key: String,
        via: String? = nil, _ value: String?
    ) {
        let instant = arrival(of: instant)
        guard contains(instant) else { return }
        var headers: [OutgoingRecord.Header] = [
            .init("ce_specversion", "1.0"), .init("ce_type", type), .init("ce_id", id),
            .init("ce_source", source), .init("content-type", "application/json"),
        ]
        if let via { headers.append(.init("ce_via", via)) }
        let day = Int((instant - firstMidnight) / DemoTime.day)
        days[day, default: DemoDay()].records[topic, default: []].append(
            OutgoingRecord(
                topic: topic, timestampMilliseconds: instant, key: Array(key.utf8),
                headers: headers,
                value: value.map { Array($0.utf8) }))
    }

    mutating func take(_ day: Int) -> DemoDay {
        var taken = days.removeValue(forKey: day) ?? DemoDay()
        taken.sort()
        return taken
    }
}

enum DemoTime {
    static let hour: Int64 = 3_600_000
    static let day: Int64 = 24 * hour
}
