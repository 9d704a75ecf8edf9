import JSONReader

/// Decodes `openrtb.auction`: `{"request": BidRequest, "response": BidResponse}` of OpenRTB 2.x.
struct AuctionDecoder {
    private var faults = FieldFaults()
    private let device: DeviceGates

    /// Decodes an auction; its id comes out beside it.
    static func decode(
        _ value: JSONValue, symbols: inout SymbolTable
    ) throws(Rejection) -> (auction: BidsEvent.Auction, requestID: UnsafeRawBufferPointer) {
        var faults = FieldFaults()
        let noRequest = value.member("request") == nil
        if noRequest { _ = faults.missing("request") }
        let request = faults.optionalObject(value, "request")
        let device = request.map { DeviceGates($0, &faults) } ?? DeviceGates()
        let requestID =
            request.map { faults.requiredID($0, "id", field: "request.id") }
            ?? UnsafeRawBufferPointer(start: nil, count: 0)
        let sourceAppID = request.map { sourceApp(of: $0, &faults) } ?? 0
        var decoder = AuctionDecoder(faults: faults, device: device)
        let bids = decoder.bids(of: value, request: request, symbols: &symbols)
        if let rejection = decoder.faults.rejection { throw rejection }
        return (BidsEvent.Auction(sourceAppID: sourceAppID, bids: bids), requestID)
    }

    private static func sourceApp(of request: JSONValue, _ faults: inout FieldFaults) -> Int64 {
        guard let app = faults.optionalObject(request, "app", field: "request.app"),
            let bundle = app.member("bundle")
        else { return 0 }
        // Elsewhere than on Apple's platforms a bundle is a name.
        if let text = bundle.string, case .notDigits = Digits(text) { return 0 }
        return faults.optionalIdentifier(app, "bundle", field: "request.app.bundle") ?? 0
    }

    private mutating func bids(
        of value: JSONValue, request: JSONValue?, symbols: inout SymbolTable
    ) -> [BidsEvent.Bid] {
        var bids: [BidsEvent.Bid] = []
        let imps = impressions(of: request)
        guard let response = faults.optionalObject(value, "response") else { return bids }
        let currency = faults.optionalText(response, "cur", field: "response.cur")
        let currencySymbol = currency.flatMap { $0.isEmpty ? nil : symbols.intern($0) }
            ?? symbols.intern("USD" as StaticString)
        let seats = faults.array(response, "seatbid", field: "response.seatbid")
        for seatBid in seats {
            guard isObject(seatBid, "response.seatbid[]") else { continue }
            let seat = faults.optionalText(seatBid, "seat", field: "response.seatbid[].seat")
            let seatSymbol = seat.map { symbols.intern($0) } ?? .empty
            let seatBids = faults.array(seatBid, "bid", field: "response.seatbid[].bid")
            for bid in seatBids {
                guard isObject(bid, "response.seatbid[].bid[]") else { continue }
                bids.append(
                    self.bid(bid, imps, seat: seatSymbol, currency: currencySymbol, &symbols))
            }
        }
        return bids
    }

    private mutating func isObject(_ value: JSONValue, _ field: StaticString) -> Bool {
        if !value.isObject { faults.note(.wrongType, field, "is not an object") }
        return value.isObject
    }

    private mutating func impressions(of request: JSONValue?) -> JSONElements? {
        guard let request else { return nil }
        let imps = faults.array(request, "imp", field: "request.imp")
        for imp in imps { _ = isObject(imp, "request.imp[]") }
        return imps
    }

    private mutating func bid(
        _ bid: JSONValue, _ imps: JSONElements?, seat: Symbol, currency: Symbol,
        _ symbols: inout SymbolTable
    ) -> BidsEvent.Bid {
        if bid.member("price") == nil { _ = faults.missing("response.seatbid[].bid[].price") }
        let price = faults.optionalPriceMicros(
            bid, "price", field: "response.seatbid[].bid[].price")
        let impID = faults.optionalText(bid, "impid", field: "response.seatbid[].bid[].impid")
        let imp = impID.flatMap { id in
            imps?.first { $0.member("id")?.string?.equals(id) == true }
        }
        let impExt = imp.flatMap { faults.optionalObject($0, "ext", field: "request.imp[].ext") }
        let offer = impExt?.member("skadn")
        let ext = faults.optionalObject(bid, "ext", field: "response.seatbid[].bid[].ext")
        let object = ext?.member("skadn")
        let skadn = object.map { Skadn(bid: $0, offer: offer) }
        let fault = skadn?.firstFault
        return BidsEvent.Bid(
            seat: seat,
            campaign: skadn?.campaignKey(&symbols) ?? .unknown,
            skanVersion: skadn?.version.map { symbols.intern($0) } ?? .empty,
            currency: currency,
            priceMicros: price ?? 0,
            overlay: overlay(
                imp, offer: offer, object: object, isValid: skadn != nil && fault == nil),
            fault: fault)
    }

    private mutating func overlay(
        _ imp: JSONValue?, offer: JSONValue?, object: JSONValue?, isValid: Bool
    ) -> BidsEvent.OverlayFlags {
        var flags = BidsEvent.OverlayFlags()
        let impression = imp.map { ImpressionGates($0, &faults) }
        if let signal = offer?.member("skoverlay") {
            flags.isSignalled = signal.isArray ? !signal.elements.isEmpty : signal.isOne
        }
        let overlay = object?.member("skoverlay")
        if let overlay, overlay.isObject {
            flags.isRequested = overlay.member("present")?.isOne ?? true
        }
        guard let overlay, flags.isSignalled, flags.isRequested, isValid, device.showsOverlays,
            let impression, impression.showsOverlays
        else { return flags }
        flags.isEligible = true
        flags.isClickTracked =
            (overlay.member("click")?.isOne ?? true) && impression.tracksClicks
        return flags
    }

    private init(faults: FieldFaults, device: DeviceGates) {
        self.faults = faults
        self.device = device
    }
}

/// What the device has to be for an overlay: iOS 14 or later.
private struct DeviceGates {
    var showsOverlays = false

    init() {}

    init(_ request: JSONValue, _ faults: inout FieldFaults) {
        guard let device = faults.optionalObject(request, "device", field: "request.device") else {
            return
        }
        let os = faults.optionalText(device, "os", field: "request.device.os")
        let osVersion = faults.optionalText(device, "osv", field: "request.device.osv")
        showsOverlays =
            os?.equalsIgnoringCase("iOS") == true
            && (osVersion.flatMap { DottedVersion($0) }?.major ?? 0) >= 14
    }
}

/// What an impression has to be for an overlay: full screen, and with HyBid of a version that can.
/// The version gates are HyBid's alone (seed document of SKOverlay, "Conditions").
private struct ImpressionGates {
    private let isFullScreen: Bool
    private let isOtherSDK: Bool
    private let version: DottedVersion?

    init(_ imp: JSONValue, _ faults: inout FieldFaults) {
        isFullScreen = faults.optionalInteger(imp, "instl", field: "request.imp[].instl") == 1
        let sdk = faults.optionalText(
            imp, "displaymanager", field: "request.imp[].displaymanager")
        isOtherSDK = sdk.map { !$0.containsIgnoringCase("hybid") } ?? false
        let version = faults.optionalText(
            imp, "displaymanagerver", field: "request.imp[].displaymanagerver")
        self.version = version.flatMap { DottedVersion($0) }
    }

    var showsOverlays: Bool { isFullScreen && isAtLeast(DottedVersion(2, 21, 1)) }

    var tracksClicks: Bool { isAtLeast(DottedVersion(3, 1, 0)) }

    private func isAtLeast(_ wanted: DottedVersion) -> Bool {
        isOtherSDK || version.map { $0 >= wanted } ?? false
    }
}

extension JSONValue {
    /// True for the number 1.
    fileprivate var isOne: Bool { number?.asInteger == .exact(1) }
}

extension UnsafeRawBufferPointer {
    /// True when the text occurs in the bytes, ASCII letters of either case.
    fileprivate func containsIgnoringCase(_ text: StaticString) -> Bool {
        guard count >= text.utf8CodeUnitCount else { return false }
        return (0...(count - text.utf8CodeUnitCount)).contains { start in
            let end = start + text.utf8CodeUnitCount
            return UnsafeRawBufferPointer(rebasing: self[start..<end]).equalsIgnoringCase(text)
        }
    }
}
