import Store
import Streams

/// The hours of a store's records, each with the version of its records.
struct FoldedHours: Sendable {
    /// A day or an hour with kept cells.
    struct Unit: Sendable {
        let text: String
        let isDay: Bool
        /// Of its records.
        let digest: ContentDigest
    }

    struct Hour: Sendable {
        let text: String
        let unit: Unit
    }

    struct Day: Sendable {
        let text: String
        fileprivate(set) var hours: [Hour]

        var unit: Unit {
            let digest = ContentDigest { for hour in hours { $0.append(hour.unit.digest) } }
            return Unit(text: text, isDay: true, digest: digest)
        }
    }

    /// Cells of the last days are kept by hour, because most records are of these.
    static let openDays = 2

    let identity: String
    /// In order of their texts.
    fileprivate var days: [Day] = []
    /// For each hour, in order of their texts, the digest of all records up to its end.
    fileprivate var sums: [(hour: String, digest: ContentDigest)] = []
    /// The recorded decoding of each partition of postbacks.
    let decodings: [Int32: RecordedDecoding]

    /// The hours with records, in order.
    fileprivate(set) var all: [Streams.Hour] = []
    /// Those of each partition.
    fileprivate(set) var ranges: [Int32: [HourRange]] = [:]

    /// The days in a time zone, in order.
    func days(_ texts: HourTexts) -> [Day] {
        guard !texts.zone.isUTC else { return days }
        return days.lazy.flatMap(\.hours).reduce(into: []) { $0.append($1, on: texts[$1.text].day) }
    }

    /// The days and hours to read, each with one of its hours: days that are selected as a whole, and single hours of
    /// days that still change or are selected in part.
    func units(
        _ texts: HourTexts, _ isSelected: (_ hour: String) -> Bool
    ) -> [(unit: Unit, hour: String)] {
        let days = days(texts)
        return days.enumerated().flatMap { index, day -> [(unit: Unit, hour: String)] in
            let selected = day.hours.filter { isSelected($0.text) }
            if selected.count == day.hours.count, index + Self.openDays < days.count,
                let hour = selected.first
            {
                return [(day.unit, hour.text)]
            }
            return selected.map { ($0.unit, $0.text) }
        }
    }

    /// The unit of an hour among units with these texts: its own, or that of its day.
    static func unit(of hour: String, in texts: Set<String>, _ hours: HourTexts) -> String? {
        if texts.contains(hour) { return hour }
        let day = hours[hour].day
        return texts.contains(day) ? day : nil
    }

    /// The digest of the records of all hours before one.
    func digest(before end: String) -> ContentDigest? {
        var (low, high) = (0, sums.count)
        while low < high {
            let middle = (low + high) / 2
            if sums[middle].hour < end { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : sums[low - 1].digest
    }
}

/// The marks of a store's hours in one state.
struct HourLedger: Sendable {
    private struct Entry: Sendable {
        var marks: [Int32: HourMark] = [:]
        var digest: ContentDigest?
        let hour: Streams.Hour?
    }

    private struct Progress: Equatable, Sendable {
        let nextOffset: Int64
        let lastRecord: String

        init(_ state: PartitionState) {
            nextOffset = state.nextOffset
            lastRecord = state.lastRecord
        }
    }

    let identity: String
    private let decodings: [Int32: RecordedDecoding]
    private var progress: [Int32: Progress] = [:]
    private var entries: [String: Entry] = [:]
    private(set) var hours: FoldedHours

    /// Reads all hours.
    init(of slice: StoreSlice, identity: String) throws {
        self.identity = identity
        decodings =
            slice.stream == PostbacksFold.streamName ? try slice.recordedDecodings() : [:]
        hours = FoldedHours(identity: identity, decodings: decodings)
        for state in slice.partitions {
            progress[state.partition] = Progress(state)
            for mark in try slice.snapshot.hourMarks(of: state.partition, from: .min) { note(mark) }
        }
        arrange()
    }

    private mutating func note(_ mark: HourMark) {
        entries[mark.hour, default: Entry(hour: Streams.Hour(text: mark.hour))]
            .marks[mark.partition] = mark
        entries[mark.hour]?.digest = nil
    }

    func isAt(_ states: [PartitionState]) -> Bool {
        states.allSatisfy { progress[$0.partition] == Progress($0) }
    }

    func isAhead(of other: HourLedger) -> Bool {
        identity == other.identity
            && progress.contains { partition, own in
                own.nextOffset > other.progress[partition]?.nextOffset ?? 0
            }
    }

    /// Moves to a later state. False if it is not one: some partition is earlier, or has other records.
    mutating func advance(to slice: StoreSlice) throws -> Bool {
        var changed: [HourMark] = []
        for state in slice.partitions {
            guard let known = progress[state.partition] else { return false }
            guard known != Progress(state) else { continue }
            guard state.nextOffset > known.nextOffset else { return false }
            let marks = try slice.snapshot.hourMarks(
                of: state.partition, from: known.nextOffset - 1)
            // The hour of the last known record begins with the same record.
            let isSame = marks.contains { mark in
                guard let before = entries[mark.hour]?.marks[mark.partition] else { return false }
                return before.firstOffset == mark.firstOffset
                    && before.firstRecord == mark.firstRecord
            }
            guard isSame || known.nextOffset == 0 else { return false }
            changed += marks.filter { entries[$0.hour]?.marks[$0.partition] != $0 }
        }
        for mark in changed { note(mark) }
        for state in slice.partitions { progress[state.partition] = Progress(state) }
        arrange()
        return true
    }

    private mutating func arrange() {
        hours = FoldedHours(identity: identity, decodings: decodings)
        for (text, entry) in entries.sorted(by: { $0.key < $1.key }) {
            let day = String(text.prefix { $0 != "T" })
            let marks = entry.marks.values.sorted { $0.partition < $1.partition }
            let digest = entry.digest ?? ContentDigest { for mark in marks { $0.append(mark) } }
            entries[text]?.digest = digest
            let unit = FoldedHours.Unit(text: text, isDay: false, digest: digest)
            hours.days.append(FoldedHours.Hour(text: text, unit: unit), on: day)
            let sum = ContentDigest {
                if let last = hours.sums.last { $0.append(last.digest) }
                $0.append(digest)
            }
            hours.sums.append((text, sum))
            guard let own = entry.hour else { continue }
            for mark in marks {
                hours.ranges[mark.partition, default: []].append(
                    HourRange(
                        partition: mark.partition, hour: own, firstOffset: mark.firstOffset,
                        lastOffset: mark.lastOffset, records: mark.records))
            }
        }
        hours.all = entries.values.compactMap(\.hour).sorted()
    }
}

extension StoreSlice {
    /// The hours with records, in order.
    func recordHours() throws -> [Hour] {
        if let folded = try cache?.hours.hours(of: self) { return folded.all }
        return Set(try hourRanges().values.joined().map(\.hour)).sorted()
    }

    /// The hours with records of each partition, in order.
    func hourRanges() throws -> [Int32: [HourRange]] {
        if let folded = try cache?.hours.hours(of: self) { return folded.ranges }
        return try Dictionary(
            uniqueKeysWithValues: numbers.map { ($0, try snapshot.hours(of: $0)) })
    }
}

extension [FoldedHours.Day] {
    /// Adds an hour after all others.
    fileprivate mutating func append(_ hour: FoldedHours.Hour, on day: String) {
        if last?.text == day {
            self[count - 1].hours.append(hour)
        } else {
            append(FoldedHours.Day(text: day, hours: [hour]))
        }
    }
}
