import JSON

/// Decodes `outbrain.listings_viewed`. One decoder serves all records: it keeps the memory of its list.
struct ListingsDecoder {
    private var faults = FieldFaults()
    private var listings: [ImpressionsEvent.Listings.Listing] = []

    /// Decodes a record; the id of the request that all its listings name comes out beside it.
    mutating func decode(
        _ value: JSONValue, symbols: inout SymbolTable
    ) throws(Rejection) -> (
        listings: ImpressionsEvent.Listings, requestID: UnsafeRawBufferPointer
    ) {
        faults = FieldFaults()
        let members = value.members(["widget_id", "widget_index", "listings", "test"])
        let widget = OutbrainWidget(id: members[0], index: members[1], &faults)
        let requestID = readListings(members[2])
        let isTest = faults.boolean(members[3], "test") ?? false
        if let rejection = faults.rejection { throw rejection }
        return (
            ImpressionsEvent.Listings(
                placement: widget.placement(&symbols), listings: listings, isTest: isTest),
            requestID
        )
    }

    private mutating func readListings(_ value: JSONValue?) -> UnsafeRawBufferPointer {
        listings.removeAll(keepingCapacity: true)
        var requestID: UnsafeRawBufferPointer?
        guard let value else { return faults.missing("listings") }
        if !value.isArray { faults.note(.wrongType, "listings", "is not an array") }
        for listing in value.elements {
            guard listing.isObject else {
                faults.note(.wrongType, "listings[]", "is not an object")
                continue
            }
            let members = listing.members(["request_id", "position", "time_elapsed_ms"])
            let id = faults.requiredID(members[0], "listings[].request_id")
            let position = faults.requiredIdentifier(members[1], "listings[].position")
            let elapsed = faults.requiredInteger(members[2], "listings[].time_elapsed_ms")
            if let requestID, !requestID.equals(id) {
                faults.note(.outOfRange, "listings", "name more than one request")
            }
            requestID = id
            listings.append(
                .init(
                    position: position,
                    isStale: elapsed > ImpressionsEvent.staleBeyondMilliseconds))
        }
        guard let requestID else {
            faults.note(.outOfRange, "listings", "name no request")
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return requestID
    }
}
