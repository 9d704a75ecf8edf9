import Streams

/// Answers that let an app be tried: 0, 1, 2, and then an empty text, whatever it did.
///
/// The answer follows from the value that the app says it has, so that nothing is kept of it.
package enum ConversionTestMode {
    private static let lastValue = 2

    /// The body of the response. Throws `wrong_type` and `out_of_range` for a value that is none.
    package static func json(_ parameters: ConversionParameters) throws(Rejection) -> String {
        let current = try parameters.fine(
            "conversion_value", "skan_current_conversion_value", "skan_conversion_value")
        let next = current.map { $0 + 1 } ?? 0
        guard next <= lastValue else { return #"{"status":"ok","conversion_value":""}"# }
        return ConversionAnswer(fine: next).json
    }
}
