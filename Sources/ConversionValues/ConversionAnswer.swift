import ConversionModels
import JSON
import Streams

/// The next value that an install should report to Apple's framework, or the reason for none.
package struct ConversionAnswer: Equatable, Sendable {
    /// 0...63; nil for no value.
    package var fine: Int?
    /// The coarse value of the present window; nil for no value, and with a single window.
    package var coarse: CoarseValue?
    /// Whether this call locks the window; nil with a single window.
    var locksWindow: Bool?
    /// Why the answer lacks a value, or which revenue did not count.
    var reason: String?

    package var json: String {
        var text = JSONText()
        text.object { text in
            text.member("status", "ok")
            if let fine { text.member("conversion_value", fine) }
            if let coarse {
                text.member("skan_updated_coarse_value", coarse.rank)
                text.member("coarse_conversion_value", coarse.rawValue)
            }
            if let locksWindow { text.member("skan_updated_lock_window_value", locksWindow) }
            if let reason { text.member("reason", reason) }
        }
        return text.text
    }

    /// The body of a rejection, with the members that clients of the guide expect.
    package static func json(refused rejection: Rejection) -> String {
        var text = JSONText()
        text.object { text in
            text.member("status", "error")
            text.member("error", rejection.reason.name)
            text.member("detail", rejection.detail)
            text.member("reason", rejection.detail)
        }
        return text.text
    }
}

/// Test answers for trying an app: 0, 1, 2, and then an empty text, for any activity. The answer follows from the
/// value that the app reports, so that nothing is stored.
package enum ConversionTestMode {
    private static let lastValue = 2

    /// Throws `wrong_type` and `out_of_range` for an invalid value.
    package static func json(_ parameters: ConversionParameters) throws(Rejection) -> String {
        let current = try parameters.fine(
            "conversion_value", "skan_current_conversion_value", "skan_conversion_value")
        let next = current.map { $0 + 1 } ?? 0
        guard next <= lastValue else { return #"{"status":"ok","conversion_value":""}"# }
        return ConversionAnswer(fine: next).json
    }
}
