import EventLog

/// How a postback came: what the header `ce_via` says.
enum PostbackRoute {
    /// From the device, to the ad network.
    case device
    /// From the device, to the advertised app's developer.
    case developerCopy
    /// Through a measurement service, which may have filled in zeros.
    case relay

    /// Reads the header; nil for a word that is none of these.
    init?(_ record: RecordView) {
        guard let via = record.headers.first(named: "ce_via") else {
            self = .device
            return
        }
        if via.equals("device") {
            self = .device
        } else if via.equals("developer-copy") {
            self = .developerCopy
        } else if via.equals("relay") {
            self = .relay
        } else {
            return nil
        }
    }
}
