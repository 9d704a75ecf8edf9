// Common parts of sentences for operators: counts with their nouns, and unknown names.

/// A count and what is counted: `1 record`, `2 records`.
package func counted(
    _ count: some BinaryInteger, _ noun: String, plural: String? = nil
) -> String {
    "\(count) \(count == 1 ? noun : plural ?? noun + "s")"
}

/// An unknown name in an error, with the probable intention and all known names.
package struct UnknownName: Equatable, Sendable, CustomStringConvertible {
    private let name: String
    private let valid: [String]

    package init(_ name: String, valid: [String]) {
        self.name = name
        self.valid = valid
    }

    /// The known name that this one probably misspells; nil if none is close.
    package var suggestion: String? {
        let distances = valid.map { (name: $0, distance: Self.distance(name.lowercased(), $0)) }
        guard let closest = distances.min(by: { $0.distance < $1.distance }) else { return nil }
        // One typing error in three characters is a misspelling, more is another word. Two errors in a word of four
        // or five count if it begins and ends as the known name: `sset` is seat.
        let isAlike =
            name.count > 3 && closest.name.first == name.lowercased().first
            && closest.name.last == name.lowercased().last
        return closest.distance <= max(isAlike ? 2 : 1, name.count / 3) ? closest.name : nil
    }

    /// `did you mean bids? There are bids, costs`, or `there are bids, costs`.
    package var description: String {
        let all = valid.isEmpty ? "there are none" : "there are \(valid.joined(separator: ", "))"
        return suggestion.map { "did you mean \($0)? T\(all.dropFirst())" } ?? all
    }

    /// How many characters to insert, remove, replace or swap with their neighbour.
    private static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left), Array(right))
        var rows = [Array(0...right.count)]
        for (index, character) in left.enumerated() {
            var row = [index + 1]
            for (other, otherCharacter) in right.enumerated() {
                var least = min(rows[index][other + 1], row[other]) + 1
                least = min(least, rows[index][other] + (character == otherCharacter ? 0 : 1))
                let isSwapped =
                    index > 0 && other > 0 && character == right[other - 1]
                    && left[index - 1] == otherCharacter
                if isSwapped { least = min(least, rows[index - 1][other - 1] + 1) }
                row.append(least)
            }
            rows.append(row)
        }
        return rows.last?.last ?? max(left.count, right.count)
    }
}
