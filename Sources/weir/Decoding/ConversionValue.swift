import ConversionModels

/// A conversion value as a person writes it.
enum ConversionValue: Equatable {
    /// 0 to 63.
    case fine(Int)
    /// low, medium or high.
    case coarse(CoarseValue)

    init(_ text: String) throws(CommandError) {
        if let number = Int(text), (0...63).contains(number) {
            self = .fine(number)
        } else if let coarse = CoarseValue(rawValue: text) {
            self = .coarse(coarse)
        } else {
            throw .usage("'\(text)' is no conversion value: give 0 to 63, low, medium or high")
        }
    }

    /// The value as Apple writes it.
    var text: String {
        switch self {
        case .fine(let number): "\(number)"
        case .coarse(let coarse): coarse.rawValue
        }
    }
}
