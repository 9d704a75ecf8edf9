import JSON

/// A decoded record of the topic `overlay-clicks`. Texts are symbols of the batch.
struct OverlayClicksEvent {
    /// The event counts as exactly one of these.
    enum Judgement {
        case test
        case notPresented, unsupportedSDK, untracked, early, automatic
        /// A person's click on an overlay or an in-app bidder's ad.
        case user
        /// A click on a paid recommendation. `isAltered`: it led elsewhere than to Outbrain.
        case paid(isAltered: Bool)
        case organic
    }

    var key: AdKey
    var judgement: Judgement
}

struct OverlayClicksDecoder: EventDecoder, ~Copyable {
    private var idBuilder = RecordIDBuilder()

    mutating func decode(
        _ value: JSONValue, _ kind: OverlayClicksEventType, symbols: inout SymbolTable
    ) throws(Rejection) -> (OverlayClicksEvent, RecordID) {
        idBuilder.begin()
        idBuilder.add(kind.name)
        let click =
            switch kind {
            case .overlayClick: try overlayClick(value, &symbols)
            case .outbrainClick: try outbrainClick(value, &symbols)
            case .inAppClick: try inAppClick(value, &symbols)
            }
        return (click, idBuilder.finish())
    }
}

extension OverlayClicksFold: ProducedStream {
    static func makeEventKeys() -> any EventKeying {
        EventKeys<OverlayClicksFold, OverlayClicksDecoder>()
    }

    static func key(
        of event: JSONValue, _ kind: OverlayClicksEventType, _ faults: inout FieldFaults
    ) -> [UInt8] {
        Array(faults.requiredID(event, kind == .outbrainClick ? "request_id" : "impression_id"))
    }
}

// MARK: `skoverlay.click` (HyBid's SKOverlay: clicks are tracked from 3.1.0 on)

extension OverlayClicksDecoder {
    private static let storeKitNames = JSONNames(
        "impression_id", "click_id", "initiated_by", "zone_id", "campaign", "test")
    private static let overlayNames = JSONNames(
        "overlay", "presented_at_ms", "clicked_at_ms", "sdk_version", "sdk")
    private static let wishNames = JSONNames("present", "click")

    private static let firstVersion = DottedVersion(3, 1, 0)

    private mutating func overlayClick(
        _ value: JSONValue, _ symbols: inout SymbolTable
    ) throws(Rejection) -> OverlayClicksEvent {
        var faults = FieldFaults()
        let members = value.members(Self.storeKitNames)
        let impressionID = faults.requiredID(members[0], "impression_id")
        let clickID = faults.text(members[1], "click_id")
        let initiator = faults.requiredWord(members[2], "initiated_by", of: ["user", "automatic"])
        let zone = faults.name(members[3], "zone_id", &symbols)
        let isTest = faults.flag(members[5], "test") ?? false
        let judged = Self.overlayJudgement(value, isAutomatic: initiator == 1, &faults)
        let click = OverlayClicksEvent(
            key: AdKey(
                format: .skOverlay, placement: zone,
                campaign: CampaignKey(members[4], symbols: &symbols, faults: &faults)),
            judgement: isTest ? .test : judged)
        if let rejection = faults.rejection { throw rejection }
        // Without its own id, a click is identified by the impression and by its origin.
        if let clickID, !clickID.isEmpty {
            idBuilder.add(clickID)
        } else {
            idBuilder.add(impressionID)
            idBuilder.add(initiator == 1 ? "automatic" : "user")
        }
        return click
    }

    /// The first reason why the event is not a click, if any.
    private static func overlayJudgement(
        _ value: JSONValue, isAutomatic: Bool, _ faults: inout FieldFaults
    ) -> OverlayClicksEvent.Judgement {
        let members = value.members(Self.overlayNames)
        // The bid's overlay is unchanged: members of other types forbid nothing.
        let wishes = faults.object(members[0], "overlay")?.members(Self.wishNames)
        let presented = faults.integer(members[1], "presented_at_ms")
        let clicked = faults.requiredInteger(members[2], "clicked_at_ms")
        let version = faults.text(members[3], "sdk_version").flatMap { DottedVersion($0) }
        let isOtherSDK = faults.text(members[4], "sdk")?.isOtherSDK ?? false
        guard let presented, wishes?[0]?.flag != false else { return .notPresented }
        guard isOtherSDK || version.map({ $0 >= firstVersion }) ?? false else {
            return .unsupportedSDK
        }
        if wishes?[1]?.flag == false { return .untracked }
        if clicked < presented { return .early }
        return isAutomatic ? .automatic : .user
    }
}

// MARK: `outbrain.click`

extension OverlayClicksDecoder {
    private static let outbrainNames = JSONNames(
        "request_id", "position", "widget_id", "widget_index", "campaign", "test")
    private static let outcomeNames = JSONNames("paid", "opened", "url")

    private mutating func outbrainClick(
        _ value: JSONValue, _ symbols: inout SymbolTable
    ) throws(Rejection) -> OverlayClicksEvent {
        var faults = FieldFaults()
        let members = value.members(Self.outbrainNames)
        let requestID = faults.requiredID(members[0], "request_id")
        let position = faults.requiredIdentifier(members[1], "position")
        let widget = OutbrainWidget(id: members[2], index: members[3], &faults)
        let isTest = faults.flag(members[5], "test") ?? false
        let judged = Self.outbrainJudgement(value, &faults)
        let click = OverlayClicksEvent(
            key: AdKey(
                format: .outbrain, placement: widget.placement(&symbols),
                campaign: CampaignKey(members[4], symbols: &symbols, faults: &faults)),
            judgement: isTest ? .test : judged)
        if let rejection = faults.rejection { throw rejection }
        idBuilder.add(requestID)
        idBuilder.add(position)
        return click
    }

    private static func outbrainJudgement(
        _ value: JSONValue, _ faults: inout FieldFaults
    ) -> OverlayClicksEvent.Judgement {
        let members = value.members(Self.outcomeNames)
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

// MARK: `inapp.click` (Smart AdServer's in-app bidding adapters)

extension OverlayClicksDecoder {
    private static let inAppNames = JSONNames("impression_id", "adapter", "campaign", "test")

    private mutating func inAppClick(
        _ value: JSONValue, _ symbols: inout SymbolTable
    ) throws(Rejection) -> OverlayClicksEvent {
        var faults = FieldFaults()
        let members = value.members(Self.inAppNames)
        let impressionID = faults.requiredID(members[0], "impression_id")
        let adapter = faults.requiredID(members[1], "adapter")
        let isTest = faults.flag(members[3], "test") ?? false
        let click = OverlayClicksEvent(
            key: AdKey(
                format: .inApp, placement: symbols.intern(adapter),
                campaign: CampaignKey(members[2], symbols: &symbols, faults: &faults)),
            judgement: isTest ? .test : .user)
        if let rejection = faults.rejection { throw rejection }
        idBuilder.add(impressionID)
        return click
    }
}

/// The host of a URL (RFC 3986, section 3.2.2): after the user's name, before the port.
///
/// Nil where programs disagree about the host: a backslash, a blank or a control character before the path, or a port
/// that is not a number.
struct URLHost {
    private let name: UnsafeRawBufferPointer

    /// Nil if the URL has no host, for example a URL without `//`.
    init?(_ url: UnsafeRawBufferPointer) {
        guard let start = Self.authorityStart(url) else { return nil }
        var end = start
        var nameStart = start
        var portStart: Int?
        while end < url.count, !Self.endsAuthority(url[end]) {
            guard url[end] > 0x20, url[end] != 0x7F, url[end] != UInt8(ascii: "\\") else {
                return nil
            }
            if url[end] == UInt8(ascii: "@") {
                nameStart = end + 1
                portStart = nil
            } else if url[end] == UInt8(ascii: ":"), portStart == nil {
                portStart = end
            }
            end += 1
        }
        if let portStart {
            let port = UnsafeRawBufferPointer(rebasing: url[(portStart + 1)..<end])
            if !port.isEmpty, case .notDigits = Digits(port) { return nil }
        }
        name = UnsafeRawBufferPointer(rebasing: url[nameStart..<(portStart ?? end)])
        if name.isEmpty { return nil }
    }

    func `is`(_ name: StaticString) -> Bool { self.name.equalsIgnoringCase(name) }

    /// The position after `//` and an optional scheme with its colon.
    private static func authorityStart(_ url: UnsafeRawBufferPointer) -> Int? {
        var position = 0
        while position < url.count, isSchemeCharacter(url[position], first: position == 0) {
            position += 1
        }
        if position > 0 {
            guard position < url.count, url[position] == UInt8(ascii: ":") else { return nil }
            position += 1
        }
        guard position + 1 < url.count, url[position] == UInt8(ascii: "/"),
            url[position + 1] == UInt8(ascii: "/")
        else { return nil }
        return position + 2
    }

    private static func isSchemeCharacter(_ byte: UInt8, first: Bool) -> Bool {
        let lower = byte | 0x20
        if lower >= UInt8(ascii: "a"), lower <= UInt8(ascii: "z") { return true }
        if first { return false }
        return (0x30...0x39).contains(byte) || byte == UInt8(ascii: "+")
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }
}
