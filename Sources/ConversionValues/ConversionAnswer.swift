import ConversionModels
import JSON
import Streams

/// What an install should tell Apple's framework next, or why nothing.
package struct ConversionAnswer: Equatable, Sendable {
    /// 0...63; nil for nothing to tell.
    package var fine: Int?
    /// The coarse value of the present window; nil for nothing to tell, and with a single window.
    package var coarse: CoarseValue?
    /// Whether this call locks the window; nil with a single window.
    var locksWindow: Bool?
    /// Why there is nothing to tell, or which revenue did not count.
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

    /// The body of a refusal, with the members that clients of the guide look for.
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

/// Test answers for trying an app: 0, 1, 2, and then an empty text, whatever it did. The answer
/// follows from the value that the app reports, so that nothing is stored.
package enum ConversionTestMode {
    private static let lastValue = 2

    /// Throws `wrong_type` and `out_of_range` for a value that is none.
    package static func json(_ parameters: ConversionParameters) throws(Rejection) -> String {
        let current = try parameters.fine(
            "conversion_value", "skan_current_conversion_value", "skan_conversion_value")
        let next = current.map { $0 + 1 } ?? 0
        guard next <= lastValue else { return #"{"status":"ok","conversion_value":""}"# }
        return ConversionAnswer(fine: next).json
    }
}
