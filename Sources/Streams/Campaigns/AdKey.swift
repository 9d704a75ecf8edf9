import JSON

/// The columns that identify an ad and its place; shared by impressions and clicks.
package struct AdKey: Equatable, Sendable {
    package var format: AdFormat
    /// The zone, the widget with its index, or the adapter; empty if unknown.
    package var placement: Symbol
    package var campaign: CampaignKey

    static let columns: KeyColumns<AdKey> = [
        .word("format", \.format, "'skoverlay', 'skadn', 'outbrain', 'inapp'"),
        .text("placement", \.placement, "zone, widget with its index, or adapter"),
        .group(\.campaign, CampaignKey.columns),
    ]
}

/// The kind of a shown or clicked ad.
package enum AdFormat: ColumnWord {
    case skOverlay
    /// An impression that was reported to SKAdNetwork.
    case skadn
    case outbrain
    case inApp

    package var name: StaticString {
        switch self {
        case .skOverlay: "skoverlay"
        case .skadn: "skadn"
        case .outbrain: "outbrain"
        case .inApp: "inapp"
        }
    }
}

/// A widget of Outbrain on a screen, as in Weir's own event types.
struct OutbrainWidget {
    private let id: UnsafeRawBufferPointer
    private let index: Int64

    /// Takes the required members `widget_id` and `widget_index`.
    init(
        id: JSONValue?, index: JSONValue?, _ faults: inout FieldFaults,
        idField: StaticString = "widget_id", indexField: StaticString = "widget_index"
    ) {
        self.id = faults.requiredID(id, idField)
        self.index = faults.requiredIdentifier(index, indexField)
    }

    /// The placement: `widget_id#widget_index`.
    func placement(_ symbols: inout SymbolTable) -> Symbol {
        // A number has at most 20 characters.
        withUnsafeTemporaryAllocation(byteCount: id.count + 21, alignment: 1) { text in
            text.copyMemory(from: id)
            text[id.count] = UInt8(ascii: "#")
            let digits = UnsafeMutableRawBufferPointer(rebasing: text[(id.count + 1)...])
            let count = Self.write(index, to: digits)
            return symbols.intern(UnsafeRawBufferPointer(rebasing: text[...(id.count + count)]))
        }
    }

    private static func write(_ number: Int64, to text: UnsafeMutableRawBufferPointer) -> Int {
        var rest = number.magnitude
        var count = 0
        repeat {
            text[count] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
            count += 1
        } while rest > 0
        text[0..<count].reverse()
        return count
    }
}
