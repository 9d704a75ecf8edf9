import EventLog

/// How a postback came: what the header `ce_via` says.
package enum PostbackRoute: CaseIterable, Sendable {
    /// From the device, to the ad network.
    case device
    /// From the device, to the advertised app's developer.
    case developerCopy
    /// Through a measurement service, which may have filled in zeros.
    case relay

    /// The route as the header says it.
    package var name: StaticString {
        switch self {
        case .device: "device"
        case .developerCopy: "developer-copy"
        case .relay: "relay"
        }
    }

    /// Reads the header; nil for a word that is none of these.
    init?(_ record: RecordView) {
        guard let via = record.headers.first(named: "ce_via") else {
            self = .device
            return
        }
        guard let route = Self.allCases.first(where: { via.equals($0.name) }) else { return nil }
        self = route
    }
}
