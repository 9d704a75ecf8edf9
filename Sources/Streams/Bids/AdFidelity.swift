/// How an ad that is signed is presented.
package enum AdFidelity: Int, ColumnWord {
    /// It is not said, or no number that Apple gives a meaning.
    case unknown
    /// 0: a view-through ad.
    case view
    /// 1: an ad that StoreKit renders.
    case storeKit

    init(_ number: Int64?) {
        switch number {
        case 0: self = .view
        case 1: self = .storeKit
        default: self = .unknown
        }
    }

    /// The word for it, in dumps.
    package var name: StaticString {
        switch self {
        case .unknown: ""
        case .view: "view"
        case .storeKit: "storekit"
        }
    }
}
