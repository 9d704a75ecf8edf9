import JSON

/// Decodes `outbrain.click`.
enum OutbrainClickDecoder {
    /// What tells one click from another.
    struct Identity {
        var requestID: UnsafeRawBufferPointer
        var position: Int64
    }

    static func decode(
        _ value: JSONValue, symbols: inout SymbolTable
    ) throws(Rejection) -> (click: OverlayClicksEvent, identity: Identity) {
        var faults = FieldFaults()
        let members = value.members([
            "request_id", "position", "widget_id", "widget_index", "campaign", "test",
        ])
        let identity = Identity(
            requestID: faults.requiredID(members[0], "request_id"),
            position: faults.requiredIdentifier(members[1], "position"))
        let widget = OutbrainWidget(id: members[2], index: members[3], &faults)
        let isTest = faults.boolean(members[5], "test") ?? false
        let judged = judgement(value, &faults)
        let click = OverlayClicksEvent(
            place: AdPlace(
                format: .outbrain, placement: widget.placement(&symbols),
                campaign: CampaignKey(members[4], symbols: &symbols, faults: &faults)),
            judgement: isTest ? .test : judged)
        if let rejection = faults.rejection { throw rejection }
        return (click, identity)
    }

    private static func judgement(
        _ value: JSONValue, _ faults: inout FieldFaults
    ) -> OverlayClicksEvent.Judgement {
        let members = value.members(["paid", "opened", "url"])
        if members[0] == nil { _ = faults.missing("paid") }
        let isPaid = faults.boolean(members[0], "paid") ?? false
        let isOpened = faults.boolean(members[1], "opened") ?? true
        if members[2] == nil { _ = faults.missing("url") }
        let url = faults.text(members[2], "url")
        guard isOpened else { return .early }
        guard isPaid else { return .organic }
        let host = url.flatMap { URLHost($0) }
        return .paid(isAltered: host?.is("paid.outbrain.com") != true)
    }
}
