import ConversionModels
import Streams

/// What an install is to tell Apple's framework next, or why nothing.
package struct ConversionAnswer: Equatable, Sendable {
    /// The fine value, 0...63; nil for nothing to tell.
    package var fine: Int?
    /// The coarse value of the present window; nil for nothing to tell, and with a single window.
    package var coarse: CoarseValue?
    /// Lock the window with this call; nil with a single window.
    package var locksWindow: Bool?
    /// In words, why there is nothing, or what of the request did not count.
    package var reason: String?

    /// Takes the parts.
    package init(
        fine: Int? = nil, coarse: CoarseValue? = nil, locksWindow: Bool? = nil,
        reason: String? = nil
    ) {
        self.fine = fine
        self.coarse = coarse
        self.locksWindow = locksWindow
        self.reason = reason
    }

    /// The body of the response.
    package var json: String {
        var text = JSONText()
        text.object { text in
            text.name("status")
            text.string("ok")
            if let fine {
                text.name("conversion_value")
                text.raw(fine)
            }
            if let coarse {
                text.name("skan_updated_coarse_value")
                text.raw(coarse.rank)
                text.name("coarse_conversion_value")
                text.string(coarse.rawValue)
            }
            if let locksWindow {
                text.name("skan_updated_lock_window_value")
                text.raw(locksWindow)
            }
            if let reason {
                text.name("reason")
                text.string(reason)
            }
        }
        return text.text
    }

    /// The body of the response to a request that is refused, in the words that clients of the guide
    /// look for.
    package static func json(refused rejection: Rejection) -> String {
        var text = JSONText()
        text.object { text in
            text.name("status")
            text.string("error")
            text.name("error")
            text.string(rejection.reason.name)
            text.name("detail")
            text.string(rejection.detail)
            text.name("reason")
            text.string(rejection.detail)
        }
        return text.text
    }
}
