import JSON

/// An event as it is to be appended.
package struct KeyedEvent: Equatable, Sendable {
    /// The key.
    package let key: [UInt8]
    /// The value; nil for what was received, byte for byte.
    package let value: [UInt8]?
}

extension RecordKeyReader {
    /// The key of an event of a producer's own. It is one event but for listings of several requests,
    /// which become one for each request, in the order in which they are named first.
    ///
    /// Throws what the topic's worker would reject it for, were it appended.
    package func events(
        _ bytes: [UInt8], topic: ProducerTopic, type name: String
    ) throws(Rejection) -> [KeyedEvent] {
        let type = ProducerEventType(topic, named: name)
        do throws(Rejection) {
            return try read(bytes) { value throws(Rejection) in
                guard let type else { throw Self.unknown(name, topic) }
                return try events(value, type)
            }
        } catch {
            // An unknown type comes before a value that is no object.
            throw type == nil && error.reason == .wrongType ? Self.unknown(name, topic) : error
        }
    }

    private func events(
        _ value: JSONValue, _ type: ProducerEventType
    ) throws(Rejection) -> [KeyedEvent] {
        if case .impressions(.listingsViewed) = type { return try listings(value, type) }
        try check.check(value, type)
        return switch type {
        case .bids(.auction):
            one(try requiredKey(value.member("request")?.member("id"), "request.id"))
        case .impressions(.recommendations): one(try recommendationsKey(value))
        case .impressions(.widgetViewed), .overlayClicks(.outbrainClick):
            one(try requiredKey(value.member("request_id"), "request_id"))
        case .bids: one(try requiredKey(value.member("auction_id"), "auction_id"))
        case .impressions, .overlayClicks:
            one(try requiredKey(value.member("impression_id"), "impression_id"))
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

    /// The listings of several requests are no event yet, but their parts are.
    private func listings(
        _ value: JSONValue, _ type: ProducerEventType
    ) throws(Rejection) -> [KeyedEvent] {
        if value.member("listings") == nil { _ = faults.missing("listings") }
        var requests: [[UInt8]] = []
        for listing in faults.array(value, "listings") {
            guard let listing = faults.object(listing, "listings[]") else { continue }
            let id = Array(faults.requiredID(listing, "request_id", field: "listings[].request_id"))
            if !requests.contains(id) { requests.append(id) }
        }
        if requests.isEmpty { faults.note(.outOfRange, "listings", "name no request") }
        if let rejection = faults.rejection { throw rejection }
        if requests.count == 1 {
            try check.check(value, type)
            return one(requests[0])
        }
        guard requests.count <= Self.maxRequests else {
            throw Rejection(
                .outOfRange, "listings name more than \(Self.maxRequests) requests")
        }
        var events: [KeyedEvent] = []
        for request in requests {
            let part = Self.part(of: value, request: request)
            try checkPart(part, type)
            events.append(KeyedEvent(key: request, value: part))
        }
        return events
    }

    /// The value that the part was taken from stays valid.
    private func checkPart(_ part: [UInt8], _ type: ProducerEventType) throws(Rejection) {
        let answer = part.withUnsafeBytes { bytes -> Result<Void, Rejection> in
            do throws(JSONFault) {
                let value = try innerParser.parse(bytes)
                do throws(Rejection) {
                    return .success(try check.check(value, type))
                } catch {
                    return .failure(error)
                }
            } catch {
                return .failure(Rejection(error))
            }
        }
        try answer.get()
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
