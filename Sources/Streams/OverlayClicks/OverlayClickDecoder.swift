import JSON

/// Decodes `skoverlay.click` (HyBid's SKOverlay: clicks are tracked from 3.1.0 on).
enum OverlayClickDecoder {
    /// What tells one click from another: its own id, else the impression and who clicked.
    enum Identity {
        case click(UnsafeRawBufferPointer)
        case impression(UnsafeRawBufferPointer, initiatedBy: StaticString)
    }

    private static let firstVersion = DottedVersion(3, 1, 0)

    static func decode(
        _ value: JSONValue, symbols: inout SymbolTable
    ) throws(Rejection) -> (click: OverlayClicksEvent, identity: Identity) {
        var faults = FieldFaults()
        let members = value.members([
            "impression_id", "click_id", "initiated_by", "zone_id", "campaign", "test",
        ])
        let impressionID = faults.requiredID(members[0], "impression_id")
        let clickID = faults.text(members[1], "click_id")
        let initiator = faults.requiredWord(members[2], "initiated_by", of: ["user", "automatic"])
        let zone = faults.name(members[3], "zone_id", &symbols)
        let isTest = faults.boolean(members[5], "test") ?? false
        let judged = judgement(value, isAutomatic: initiator == 1, &faults)
        let click = OverlayClicksEvent(
            place: AdPlace(
                format: .skOverlay, placement: zone,
                campaign: CampaignKey(members[4], symbols: &symbols, faults: &faults)),
            judgement: isTest ? .test : judged)
        if let rejection = faults.rejection { throw rejection }
        guard let clickID, !clickID.isEmpty else {
            let initiatedBy: StaticString = initiator == 1 ? "automatic" : "user"
            return (click, .impression(impressionID, initiatedBy: initiatedBy))
        }
        return (click, .click(clickID))
    }

    /// The first reason for which it is no click, if any.
    private static func judgement(
        _ value: JSONValue, isAutomatic: Bool, _ faults: inout FieldFaults
    ) -> OverlayClicksEvent.Judgement {
        let members = value.members([
            "overlay", "presented_at_ms", "clicked_at_ms", "sdk_version",
        ])
        // What the bid sent is kept as it is: members of other types forbid nothing.
        let wishes = faults.object(members[0], "overlay")?.members(["present", "click"])
        let presented = faults.integer(members[1], "presented_at_ms")
        let clicked = faults.requiredInteger(members[2], "clicked_at_ms")
        let version = faults.text(members[3], "sdk_version").flatMap { DottedVersion($0) }
        guard let presented, wishes?[0]?.isZero != true else { return .notPresented }
        guard let version, version >= firstVersion else { return .unsupportedSDK }
        if wishes?[1]?.isZero == true { return .untracked }
        if clicked < presented { return .early }
        return isAutomatic ? .automatic : .user
    }
}

extension JSONValue {
    /// True for the number 0.
    fileprivate var isZero: Bool { number?.asInteger == .exact(0) }
}
