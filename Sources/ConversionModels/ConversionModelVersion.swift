/// The meaning of the conversion values of one app from one hour on.
package struct ConversionModelVersion: Equatable, Sendable {
    /// Unique within the model; names compare as UTF-8 bytes.
    package let id: String
    /// Milliseconds since 1970 (UTC), a whole hour.
    package let effectiveFromMilliseconds: Int64
    /// The currency of every amount: three capital letters of ISO 4217.
    package let currency: String
    /// The layout of the fine value, in the configured order.
    package let fields: [FineField]
    /// Events of the coarse values by window (0, 1, 2).
    package let coarse: [Int: [CoarseValue: [ModelEvent]]]
    /// The hours after the install at which the app locks its windows, by sequence index. A window without an entry
    /// stays open until its end.
    package let lockHours: [Int: Int]

    /// The decodings of the fine values 0...63.
    private let fineDecodings: [[DecodedEvent]]
    /// The decodings of low, medium and high in window 0, then 1, then 2.
    private let coarseDecodings: [[DecodedEvent]]

    /// Checks the parts and decodes every value once.
    ///
    /// Throws a fault at `id`, `effective_from`, `currency`, `lock_hours`, `fine` or `coarse`; for example `overflow`
    /// if the sum of one value's events exceeds 64 bits.
    package init(
        id: String,
        effectiveFromMilliseconds: Int64,
        currency: String,
        fields: [FineField],
        coarse: [Int: [CoarseValue: [ModelEvent]]] = [:],
        lockHours: [Int: Int] = [:]
    ) throws(ModelFault) {
        try ModelFault.checkName(id, at: "id")
        guard effectiveFromMilliseconds.isMultiple(of: Self.hourMilliseconds) else {
            throw ModelFault("effective_from", .notWholeHour)
        }
        guard currency.utf8.count == 3,
            currency.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
        else { throw ModelFault("currency", .badCurrency) }
        try Self.checkLocks(lockHours)
        try Self.checkLayout(fields)
        self.id = id
        self.effectiveFromMilliseconds = effectiveFromMilliseconds
        self.currency = currency
        self.fields = fields
        self.coarse = coarse
        self.lockHours = lockHours
        fineDecodings = try Self.decodings(of: fields)
        coarseDecodings = try Self.decodings(of: coarse)
    }

    /// The events of a fine value. Events of one name are added up, in the order of the fields. A value outside
    /// 0...63 means nothing.
    package func decode(fine: Int) -> [DecodedEvent] {
        fineDecodings.indices.contains(fine) ? fineDecodings[fine] : []
    }

    /// The events of a coarse value in a window; empty for a window outside 0...2.
    package func decode(coarse: CoarseValue, sequenceIndex: Int) -> [DecodedEvent] {
        guard Self.windows.contains(sequenceIndex) else { return [] }
        return coarseDecodings[sequenceIndex * CoarseValue.allCases.count + coarse.rank]
    }

    /// The day since the install in a fine value; nil if the layout has no days.
    package func day(fine: Int) -> Int? {
        fields.first { $0.kind == .days }?.number(in: fine)
    }

    package func flags(fine: Int) -> Set<String> {
        Set(fields.flatMap(\.flags).filter { fine >> $0.bit & 1 == 1 }.map(\.name))
    }

    static let windows = 0...2
    private static let hourMilliseconds: Int64 = 3_600_000

    private static func checkLocks(_ hours: [Int: Int]) throws(ModelFault) {
        for (window, hours) in hours.sorted(by: { $0.key < $1.key }) {
            let path: [ModelFault.Step] = [.key("lock_hours"), .key("\(window)")]
            guard let end = PostbackTiming.window(window)?.windowHours else {
                throw ModelFault(path: path, .unknownWindow)
            }
            guard (1..<end).contains(hours) else {
                throw ModelFault(path: path, .badLock(largest: end - 1))
            }
        }
    }

    private static func checkLayout(_ fields: [FineField]) throws(ModelFault) {
        var owners: [Int: Int] = [:]
        var flagNames: [String] = []
        var hasDays = false
        for (index, field) in fields.enumerated() {
            let path: [ModelFault.Step] = [.key("fine"), .key("fields"), .index(index)]
            for bit in field.bits {
                if let owner = owners[bit] {
                    throw ModelFault(path: path + [.key("bits")], .overlappingBits(field: owner))
                }
                owners[bit] = index
            }
            if field.kind == .days {
                if hasDays { throw ModelFault(path: path + [.key("kind")], .secondDaysField) }
                hasDays = true
            }
            for (bit, name) in field.flags {
                if flagNames.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
                    let flag: [ModelFault.Step] = [.key("flags"), .key("\(bit)")]
                    throw ModelFault(path: path + flag, .duplicateFlag)
                }
                flagNames.append(name)
            }
        }
    }

    private static func decodings(
        of fields: [FineField]
    ) throws(ModelFault) -> [[DecodedEvent]] {
        var decodings: [[DecodedEvent]] = []
        for fine in 0...63 {
            do {
                decodings.append(try DecodedEvent.merged(fields.flatMap { $0.events(in: fine) }))
            } catch {
                throw ModelFault(path: [.key("fine"), .key("fields")], error.problem)
            }
        }
        return decodings
    }

    private static func decodings(
        of coarse: [Int: [CoarseValue: [ModelEvent]]]
    ) throws(ModelFault) -> [[DecodedEvent]] {
        for window in coarse.keys.sorted() where !windows.contains(window) {
            throw ModelFault(path: [.key("coarse"), .key("\(window)")], .unknownWindow)
        }
        var decodings: [[DecodedEvent]] = []
        for window in windows {
            for value in CoarseValue.allCases {
                let events = coarse[window]?[value] ?? []
                do {
                    decodings.append(try DecodedEvent.merged(events.map { DecodedEvent($0) }))
                } catch {
                    let path = ["coarse", "\(window)", value.rawValue]
                    throw ModelFault(path: path.map { .key($0) }, error.problem)
                }
            }
        }
        return decodings
    }
}

/// A coarse conversion value of SKAdNetwork 4.0 and AdAttributionKit; the raw value is Apple's word.
package enum CoarseValue: String, CaseIterable, Codable, Comparable, Sendable {
    case low
    case medium
    case high

    /// 0 for low, 1 for medium, 2 for high.
    package var rank: Int {
        switch self {
        case .low: 0
        case .medium: 1
        case .high: 2
        }
    }

    package static func < (left: CoarseValue, right: CoarseValue) -> Bool {
        left.rank < right.rank
    }
}
