/// SplitMix64: the same numbers for the same seed, on every machine.
package struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    /// A generator of its own for each subject, so that one does not move the numbers of another.
    package init(seed: UInt64, _ subject: Int...) {
        var generator = SeededGenerator(seed: seed)
        for number in subject {
            generator = SeededGenerator(seed: generator.next() ^ UInt64(bitPattern: Int64(number)))
        }
        self = generator
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension SeededGenerator {
    /// From 0, below 1.
    mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }

    mutating func between(_ low: Double, _ high: Double) -> Double { low + (high - low) * unit() }

    mutating func happens(_ probability: Double) -> Bool { unit() < probability }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }

    /// A whole number whose average is `expected`.
    mutating func count(_ expected: Double) -> Int { Int(expected + unit()) }

    mutating func pick<Value>(_ weighted: [(Value, weight: Int)]) -> Value {
        var left = below(weighted.reduce(0) { $0 + $1.weight })
        for (value, weight) in weighted {
            left -= weight
            if left < 0 { return value }
        }
        return weighted[0].0
    }

    /// A version 4 UUID in lower case.
    mutating func uuid() -> String {
        var (high, low) = (next(), next())
        high = high & ~0xF000 | 0x4000
        low = (low >> 62) << 60 | low & 0x0FFF_FFFF_FFFF_FFFF | 1 << 63
        return String(unsafeUninitializedCapacity: 36) { text in
            var digits = 0
            for index in 0..<36 {
                if [8, 13, 18, 23].contains(index) {
                    text[index] = UInt8(ascii: "-")
                } else {
                    let number = digits < 16 ? high : low
                    let digit = UInt8(truncatingIfNeeded: number >> (60 - digits % 16 * 4)) & 0xF
                    text[index] = digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
                    digits += 1
                }
            }
            return 36
        }
    }

    /// Milliseconds within a day: few at night, most in the evening.
    mutating func timeOfDay() -> Int64 {
        let hour = pick(Self.hours)
        return Int64(hour) * 3_600_000 + Int64(below(3_600_000))
    }

    /// How busy each hour of the day is, UTC, for people in America and Europe.
    private static let hours: [(Int, weight: Int)] = [
        6, 6, 5, 4, 3, 2, 2, 3, 4, 4, 4, 5, 5, 5, 5, 5, 6, 6, 7, 7, 8, 8, 7, 7,
    ].enumerated().map { ($0.offset, weight: $0.element) }
}
