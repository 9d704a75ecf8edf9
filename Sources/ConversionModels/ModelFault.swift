/// Why a conversion model is unusable, and where.
///
/// The path is relative to the part under construction, in the words of configuration, so that a reader of a file can
/// find the line.
package struct ModelFault: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Step: Equatable, Sendable {
        case key(String)
        /// The element of this index, from 0.
        case index(Int)
    }

    package enum Problem: Equatable, Sendable {
        /// A name is empty, longer than 255 bytes, or has control characters.
        case badName
        /// A count or an amount is below zero.
        case negative
        /// A maximum is below its minimum.
        case maximumBelowMinimum
        /// Bits are not within 0...5, or the lowest is above the highest.
        case badBits
        /// Bits belong to an earlier field as well.
        case overlappingBits(field: Int)
        /// A revenue field has no bucket.
        case noBuckets
        /// A bucket does not start above the previous one.
        case bucketsNotAscending
        /// There are more buckets than the field has numbers.
        case tooManyBuckets(numbers: Int)
        /// The closing maximum is below the last bucket.
        case maxBelowLastBucket
        /// A number does not fit into the bits of the field.
        case numberBeyondField(largest: Int)
        /// The bit of a flag is outside its field.
        case flagOutsideField(bits: ClosedRange<Int>)
        /// Another bit has this event.
        case duplicateFlag
        /// A second field counts days.
        case secondDaysField
        /// A window of coarse values or of a lock is not 0, 1 or 2.
        case unknownWindow
        /// A window is locked at its beginning or earlier, or at its end or later.
        case badLock(largest: Int)
        /// An instant is not a whole hour of UTC.
        case notWholeHour
        /// A currency is not three capital letters.
        case badCurrency
        /// An app's id is not above zero.
        case badApp
        /// A model has no version.
        case noVersions
        /// Another version has this id.
        case duplicateVersion
        /// A version does not take effect after the previous one.
        case versionsNotAscending
        /// The sums for one event under one value exceed 64 bits.
        case overflow(event: String)
    }

    /// Empty if the whole is at fault.
    package let path: [Step]
    package let problem: Problem

    init(path: [Step], _ problem: Problem) {
        self.path = path
        self.problem = problem
    }

    init(_ key: String, _ problem: Problem) {
        self.init(path: [.key(key)], problem)
    }

    /// The path as text: `fields[1].bits`.
    package var pathText: String {
        path.reduce(into: "") { text, step in
            switch step {
            case .key(let key): text += text.isEmpty ? key : ".\(key)"
            case .index(let index): text += "[\(index)]"
            }
        }
    }

    package var description: String {
        path.isEmpty ? problem.description : "\(pathText): \(problem)"
    }

    static func checkName(_ name: String, at key: String) throws(ModelFault) {
        let printable = name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        guard printable, (1...255).contains(name.utf8.count) else {
            throw ModelFault(key, .badName)
        }
    }
}

extension ModelFault.Problem: CustomStringConvertible {
    /// The problem and the remedy, without the place.
    package var description: String {
        switch self {
        case .badName: "is not a name: write 1 to 255 bytes without control characters"
        case .negative: "is negative: write 0 or more"
        case .maximumBelowMinimum: "is below its minimum: raise it, or lower the minimum"
        case .badBits: "are not bits: write [lowest, highest], within 0 to 5, lowest first"
        case .overlappingBits(let field):
            "overlap the bits of fields[\(field)]: assign every bit to only one field"
        case .noBuckets: "is empty: write the lower bound of at least one bucket"
        case .bucketsNotAscending:
            "is not above the previous bucket: write the bounds in ascending order"
        case .tooManyBuckets(let numbers):
            "has more buckets than the field has numbers (\(numbers)): add bits or remove buckets"
        case .maxBelowLastBucket: "is below the last bucket: write the end of the last bucket"
        case .numberBeyondField(let largest):
            "does not fit into the field's bits: write a number from 0 to \(largest)"
        case .flagOutsideField(let bits):
            "is not a bit of this field: write an absolute bit number from \(bits.lowerBound)"
                + " to \(bits.upperBound)"
        case .duplicateFlag: "is the flag of another bit: give every flag its own name"
        case .secondDaysField: "is the second field of days: keep one"
        case .unknownWindow: "is not a window: write \"0\", \"1\" or \"2\""
        case .badLock(let largest):
            "is not within the window: write whole hours from 1 to \(largest)"
        case .notWholeHour: "is not a full hour in UTC: write it like 2026-01-31T05:00:00Z"
        case .badCurrency:
            "is not a currency: write the three capital letters of ISO 4217, for example USD"
        case .badApp: "is not an app: write the App Store id, a number above 0"
        case .noVersions: "is empty: write at least one version"
        case .duplicateVersion: "is the id of an earlier version: give every version its own id"
        case .versionsNotAscending:
            "is not later than the previous version: append versions in the order in which they take effect"
        case .overflow(let event):
            "add up to more than 64 bits for the event '\(event)': lower its counts or revenue"
        }
    }
}
