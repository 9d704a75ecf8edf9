/// A decoded record of the topic `costs`. Texts are symbols of the batch.
struct CostsEvent {
    /// The first hour of the report's day.
    var day: Hour
    var key: CostsKey
    /// Identifies the report's cell: source, day, campaign, country and currency.
    var cell: RecordID
    var words: CostsWords
}

/// The figures of a report; missing ones are 0.
struct CostsWords: Equatable, Sendable {
    /// Millionths of a unit of the currency, 0 to 10^15.
    var costMicros: Int64 = 0
    var impressions: Int64 = 0
    var clicks: Int64 = 0
    var installs: Int64 = 0
}

/// An amount of money, read from its decimal text, because a double would round it before it is judged.
enum DecimalMicros: Equatable {
    /// Millionths of a unit, rounded to the nearest, half away from zero.
    case micros(Int64)
    /// Below zero, or above 1,000,000,000 units.
    case outOfRange

    /// The largest amount is 10 to the power of this.
    private static let limitPower: Int64 = 9
    /// Larger exponents are clamped to this limit; no text is that long.
    private static let exponentLimit: Int64 = 1 << 40

    /// Reads a JSON number (RFC 8259, section 6). Any other text gives a meaningless number.
    init(_ text: UnsafeRawBufferPointer) {
        var digits = SignificantDigits()
        var isNegative = false
        var pointSeen = false
        var index = 0
        while index < text.count, text[index] | 0x20 != UInt8(ascii: "e") {
            switch text[index] {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "."): pointSeen = true
            default: digits.add(Int64(text[index] &- 0x30), isFraction: pointSeen)
            }
            index += 1
        }
        guard digits.count > 0 else {
            self = .micros(0)
            return
        }
        let power = digits.power + Self.exponent(text, from: index + 1)
        guard !isNegative, power <= Self.limitPower || digits.isOne(power, Self.limitPower + 1)
        else {
            self = .outOfRange
            return
        }
        self = .micros(digits.rounded(toDigits: power + 6))
    }

    private static func exponent(_ text: UnsafeRawBufferPointer, from start: Int) -> Int64 {
        var exponent: Int64 = 0
        var isNegative = false
        for index in start..<max(start, text.count) {
            switch text[index] {
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "+"): break
            default:
                exponent = min(exponent * 10 + Int64(text[index] &- 0x30), exponentLimit)
            }
        }
        return isNegative ? -exponent : exponent
    }
}

/// The digits of a decimal number without leading zeros: 0.d1d2d3... times ten to the power.
private struct SignificantDigits {
    /// The digits of the largest amount in millionths, and one for rounding.
    private static let kept = 17

    /// The number of digits.
    private(set) var count: Int64 = 0
    private(set) var power: Int64 = 0
    /// The first digits as a number.
    private var first: Int64 = 0
    private var firstCount = 0
    private var hasOthers = false

    mutating func add(_ digit: Int64, isFraction: Bool) {
        if count == 0, digit == 0 {
            if isFraction { power -= 1 }
            return
        }
        count += 1
        if !isFraction { power += 1 }
        if firstCount < Self.kept {
            first = first * 10 + digit
            firstCount += 1
        } else if digit != 0 {
            hasOthers = true
        }
    }

    /// Whether the number is the power of ten with this many digits before its point.
    func isOne(_ power: Int64, _ digits: Int64) -> Bool {
        power == digits && !hasOthers && first == Self.tenTo(firstCount - 1)
    }

    /// The first `digits` as a number, rounded by the next one, half up. At most 16 digits.
    func rounded(toDigits digits: Int64) -> Int64 {
        guard digits >= 0 else { return 0 }
        let wanted = Int(digits) + 1
        let scaled =
            wanted >= firstCount
            ? first * Self.tenTo(wanted - firstCount)
            : first / Self.tenTo(firstCount - wanted)
        return scaled / 10 + (scaled % 10 >= 5 ? 1 : 0)
    }

    private static func tenTo(_ power: Int) -> Int64 {
        (0..<power).reduce(1) { ten, _ in ten * 10 }
    }
}
