import JSON

// The keys of producers' own events.

extension ImpressionsFold: ProducedStream {
    static func makeEventKeys() -> any EventKeying {
        EventKeys<ImpressionsFold, ImpressionsDecoder>()
    }

    /// An SDK sends listings of only a few requests together.
    private static var maxRequests: Int { 100 }

    static func key(
        of event: JSONValue, _ kind: ImpressionsEventType, _ faults: inout FieldFaults
    ) -> [UInt8] {
        switch kind {
        case .recommendations:
            let response = event.member("response")
            // The body may be unwrapped.
            let answer = response?.member("response") ?? response
            let id = answer?.member("request")?.member("req_id")
            return Array(faults.requiredID(id, "response.request.req_id"))
        case .widgetViewed, .listingsViewed:
            return Array(faults.requiredID(event, "request_id"))
        default: return Array(faults.requiredID(event, "impression_id"))
        }
    }

    /// Splits listings of several requests into one event for each request, in order of first occurrence.
    static func keyedEvents(
        of value: JSONValue, _ kind: ImpressionsEventType, _ faults: inout FieldFaults
    ) throws(Rejection) -> [KeyedEvent] {
        guard kind == .listingsViewed else {
            return [KeyedEvent(key: key(of: value, kind, &faults), value: nil)]
        }
        let requests = requests(of: value, &faults)
        // A fault elsewhere in the event may have precedence: its decoder must see the whole event.
        if requests.count == 1 || faults.rejection != nil {
            return [KeyedEvent(key: requests.first ?? [], value: nil)]
        }
        guard requests.count <= maxRequests else {
            throw Rejection(.outOfRange, "listings name more than \(maxRequests) requests")
        }
        return requests.map { KeyedEvent(key: $0, value: part(of: value, request: $0)) }
    }

    private static func requests(
        of value: JSONValue, _ faults: inout FieldFaults
    ) -> [[UInt8]] {
        if value.member("listings") == nil { _ = faults.missing("listings") }
        var requests: [[UInt8]] = []
        for listing in faults.array(value, "listings") {
            guard let listing = faults.object(listing, "listings[]") else { continue }
            let id = Array(faults.requiredID(listing, "request_id", field: "listings[].request_id"))
            if !requests.contains(id) { requests.append(id) }
        }
        if requests.isEmpty { faults.report(.outOfRange, "listings", "name no request") }
        return requests
    }

    /// The event with the listings of only one request.
    private static func part(of value: JSONValue, request: [UInt8]) -> [UInt8] {
        var text = JSONText()
        var hasListings = false
        text.object { text in
            value.forEachMember { name, member in
                text.name(String(decoding: name, as: UTF8.self))
                guard name.equals("listings"), !hasListings else { return text.value(member) }
                hasListings = true
                text.array { text in
                    for listing in member.elements
                    where listing.member("request_id")?.string?.elementsEqual(request) == true {
                        text.value(listing)
                    }
                }
            }
        }
        return Array(text.text.utf8)
    }
}
