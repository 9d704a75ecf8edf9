import JSONReader

/// An event as it is to be appended.
public struct KeyedEvent: Equatable, Sendable {
    /// The key.
    public let key: [UInt8]
    /// The value; nil for what was received, byte for byte.
    public let value: [UInt8]?
}

extension RecordKeyReader {
    /// The key of an event of a producer's own. It is one event but for listings of several requests,
    /// which become one for each request, in the order in which they are named first.
    ///
    /// Throws `unknownType` for a type that the topic does not have.
    public func events(
        _ bytes: [UInt8], topic: ProducerTopic, type: String
    ) throws(Rejection) -> [KeyedEvent] {
        let isKnown = topic.types.contains(type)
        do throws(Rejection) {
            return try read(bytes) { value throws(Rejection) in
                guard isKnown else { throw Self.unknown(type, topic) }
                return try events(value, topic: topic, type: type)
            }
        } catch {
            // An unknown type comes before a value that is no object.
            throw !isKnown && error.reason == .wrongType ? Self.unknown(type, topic) : error
        }
    }

    private func events(
        _ value: JSONValue, topic: ProducerTopic, type: String
    ) throws(Rejection) -> [KeyedEvent] {
        switch type {
        case "openrtb.auction":
            let request = faults.requiredObject(value.member("request"), "request")
            if let rejection = faults.rejection { throw rejection }
            return one(try requiredKey(request?.member("id"), "request.id"))
        case "outbrain.recommendations":
            return one(try recommendationsKey(value))
        case "outbrain.widget_viewed", "outbrain.click":
            return one(try requiredKey(value.member("request_id"), "request_id"))
        case "outbrain.listings_viewed": return try listings(value)
        case _ where topic == .bids:
            return one(try requiredKey(value.member("auction_id"), "auction_id"))
        default: return one(try requiredKey(value.member("impression_id"), "impression_id"))
        }
    }

    private static func unknown(_ type: String, _ topic: ProducerTopic) -> Rejection {
        Rejection(.unknownType, "the topic \(topic.rawValue) has no type '\(type)'")
    }

    private func one(_ key: [UInt8]) -> [KeyedEvent] { [KeyedEvent(key: key, value: nil)] }

    private func recommendationsKey(_ value: JSONValue) throws(Rejection) -> [UInt8] {
        let response = faults.requiredObject(value.member("response"), "response")
        // The body may have been unwrapped.
        let answer = response?.member("response") ?? response
        let request = faults.requiredObject(answer?.member("request"), "response.request")
        if let rejection = faults.rejection { throw rejection }
        return try requiredKey(request?.member("req_id"), "response.request.req_id")
    }

    private func listings(_ value: JSONValue) throws(Rejection) -> [KeyedEvent] {
        if value.member("listings") == nil { _ = faults.missing("listings") }
        var requests: [[UInt8]] = []
        for listing in faults.array(value, "listings") {
            guard let listing = faults.object(listing, "listings[]") else { continue }
            let id = Array(faults.requiredID(listing, "request_id", field: "listings[].request_id"))
            if !requests.contains(id) { requests.append(id) }
        }
        if requests.isEmpty { faults.note(.outOfRange, "listings", "name no request") }
        if let rejection = faults.rejection { throw rejection }
        if requests.count == 1 { return one(requests[0]) }
        guard requests.count <= Self.maxRequests else {
            throw Rejection(
                .outOfRange, "listings name more than \(Self.maxRequests) requests")
        }
        return requests.map { KeyedEvent(key: $0, value: Self.part(of: value, request: $0)) }
    }

    /// What an SDK sends together names a few requests.
    private static var maxRequests: Int { 100 }

    /// The event with the listings of one request only.
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
