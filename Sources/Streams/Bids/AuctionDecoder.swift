import JSON

/// Decodes `openrtb.auction`: `{"request": BidRequest, "response": BidResponse}` of OpenRTB 2.x. One decoder serves all
/// auctions, to reuse the memory of its lists.
struct AuctionDecoder {
    private static let names = JSONNames("request", "response")
    private static let requestNames = JSONNames("id", "app", "device", "imp")
    private static let responseNames = JSONNames("cur", "seatbid")
    private static let seatNames = JSONNames("seat", "bid")
    private static let bidNames = JSONNames("price", "impid", "ext")

    private var faults = FieldFaults()
    private var device = DeviceGates()
    private var impressions = ImpressionList()
    private var bids: [BidsEvent.Bid] = []

    mutating func decode(
        _ value: JSONValue, symbols: inout SymbolTable
    ) throws(Rejection) -> (auction: BidsEvent.Auction, requestID: UnsafeRawBufferPointer) {
        faults = FieldFaults()
        let members = value.members(Self.names)
        if members[0] == nil { _ = faults.missing("request") }
        let request = faults.object(members[0], "request")
        let asked = request?.members(Self.requestNames)
        device = DeviceGates(asked?[2], &faults)
        let requestID =
            asked.map { faults.requiredID($0[0], "request.id") }
            ?? UnsafeRawBufferPointer(start: nil, count: 0)
        let sourceAppID = Self.sourceApp(asked?[1], &faults)
        readImpressions(asked?[3], of: request)
        readBids(of: faults.object(members[1], "response"), symbols: &symbols)
        if let rejection = faults.rejection { throw rejection }
        return (BidsEvent.Auction(sourceAppID: sourceAppID, bids: bids), requestID)
    }

    /// Calls `body` with the bids of a well-formed auction, in order.
    static func forEachBid(of auction: JSONValue, _ body: (JSONValue) -> Void) {
        guard let seats = auction.member("response")?.member("seatbid") else { return }
        for seat in seats.elements {
            guard let bids = seat.member("bid") else { continue }
            for bid in bids.elements { body(bid) }
        }
    }

    private static func sourceApp(_ app: JSONValue?, _ faults: inout FieldFaults) -> Int64 {
        guard let app = faults.object(app, "request.app"),
            let bundle = app.member("bundle"), isDigits(bundle)
        else { return 0 }
        return faults.identifier(bundle, "request.app.bundle") ?? 0
    }

    /// Whether a bundle consists of digits, of any length. Outside Apple's platforms a bundle is a name.
    private static func isDigits(_ bundle: JSONValue) -> Bool {
        if let text = bundle.string {
            if case .notDigits = Digits(text) { return false }
            return true
        }
        guard let number = bundle.number, number.asInteger != .fraction else { return false }
        return number.double >= 0
    }

    private mutating func readBids(of response: JSONValue?, symbols: inout SymbolTable) {
        bids.removeAll(keepingCapacity: true)
        guard let response else { return }
        let members = response.members(Self.responseNames)
        let currency = faults.text(members[0], "response.cur")
        let currencySymbol =
            currency.flatMap { $0.isEmpty ? nil : symbols.intern($0) }
            ?? symbols.intern("USD" as StaticString)
        for seatBid in faults.array(members[1], of: response, "response.seatbid") {
            guard isObject(seatBid, "response.seatbid[]") else { continue }
            let members = seatBid.members(Self.seatNames)
            let seat = faults.text(members[0], "response.seatbid[].seat")
            let seatSymbol = seat.map { symbols.intern($0) } ?? .empty
            for bid in faults.array(members[1], of: seatBid, "response.seatbid[].bid") {
                guard isObject(bid, "response.seatbid[].bid[]") else { continue }
                bids.append(self.bid(bid, seat: seatSymbol, currency: currencySymbol, &symbols))
            }
        }
    }

    private mutating func isObject(_ value: JSONValue, _ field: StaticString) -> Bool {
        if !value.isObject { faults.report(.wrongType, field, "is not an object") }
        return value.isObject
    }

    private mutating func readImpressions(_ list: JSONValue?, of request: JSONValue?) {
        impressions.removeAll()
        guard let request else { return }
        for imp in faults.array(list, of: request, "request.imp")
        where isObject(imp, "request.imp[]") {
            impressions.append(Impression(imp, &faults))
        }
    }

    private mutating func bid(
        _ bid: JSONValue, seat: Symbol, currency: Symbol, _ symbols: inout SymbolTable
    ) -> BidsEvent.Bid {
        let members = bid.members(Self.bidNames)
        let impID = faults.text(members[1], "response.seatbid[].bid[].impid")
        let impression = impID.flatMap { impressions.index(ofID: $0) }
        let ext = faults.object(members[2], "response.seatbid[].bid[].ext")
        let skadn = ext?.member("skadn").map { Skadn($0) }
        let fault = skadn?.firstFault(offer: impression.flatMap { impressions[$0].skadn })
        return BidsEvent.Bid(
            seat: seat,
            campaign: skadn?.campaignKey(&symbols) ?? .unknown,
            skanVersion: skadn?.version.map { symbols.intern($0) } ?? .empty,
            currency: currency,
            priceMicros: members[0]?.priceMicros,
            overlay: overlay(
                impression, skadn?.overlay, isValid: skadn != nil && fault == nil),
            fault: fault)
    }

    /// - Parameter impression: its index.
    private func overlay(
        _ impression: Int?, _ overlay: JSONValue?, isValid: Bool
    ) -> BidsEvent.OverlayFlags {
        var flags = BidsEvent.OverlayFlags()
        if let signal = impression.flatMap({ impressions[$0].skadn?.overlay }) {
            flags.isSignalled = signal.isArray ? !signal.elements.isEmpty : signal.flag == true
        }
        if let overlay, overlay.isObject {
            flags.isRequested = Self.isAllowed(overlay.member("present"))
        }
        guard let overlay, flags.isSignalled, flags.isRequested, isValid, device.showsOverlays,
            let impression, impressions[impression].showsOverlays
        else { return flags }
        flags.isEligible = true
        flags.isClickTracked =
            Self.isAllowed(overlay.member("click")) && impressions[impression].tracksClicks
        return flags
    }

    /// Whether a flag of an overlay is 1 or absent.
    private static func isAllowed(_ flag: JSONValue?) -> Bool {
        flag.map { $0.flag == true } ?? true
    }
}

/// The device requirement of an overlay: iOS 14 or later.
private struct DeviceGates {
    private static let names = JSONNames("os", "osv")

    let showsOverlays: Bool

    init() {
        showsOverlays = false
    }

    init(_ device: JSONValue?, _ faults: inout FieldFaults) {
        guard let members = faults.object(device, "request.device")?.members(Self.names) else {
            showsOverlays = false
            return
        }
        let os = faults.text(members[0], "request.device.os")
        let osVersion = faults.text(members[1], "request.device.osv")
        showsOverlays =
            os?.equalsIgnoringCase("iOS") == true
            && (osVersion.flatMap { DottedVersion($0) }?.major ?? 0) >= 14
    }
}

/// An offered impression. An overlay requires a full-screen impression and HyBid's version gates (seed document of
/// SKOverlay, "Conditions"). The gates apply to HyBid only.
private struct Impression {
    private static let names = JSONNames(
        "id", "ext", "instl", "displaymanager", "displaymanagerver")

    let id: UnsafeRawBufferPointer?
    /// `ext.skadn`, well-formed or not.
    let skadn: SkadnOffer?
    private let isFullScreen: Bool
    private let isOtherSDK: Bool
    private let version: DottedVersion?

    init(_ imp: JSONValue, _ faults: inout FieldFaults) {
        let members = imp.members(Self.names)
        id = faults.text(members[0], "request.imp[].id")
        skadn = faults.object(members[1], "request.imp[].ext")?.member("skadn")
            .map { SkadnOffer($0) }
        isFullScreen =
            members[2]?.boolean ?? (faults.integer(members[2], "request.imp[].instl") == 1)
        let sdk = faults.text(members[3], "request.imp[].displaymanager")
        isOtherSDK = sdk?.isOtherSDK ?? false
        let version = faults.text(members[4], "request.imp[].displaymanagerver")
        self.version = version.flatMap { DottedVersion($0) }
    }

    var showsOverlays: Bool { isFullScreen && isAtLeast(DottedVersion(2, 21, 1)) }

    var tracksClicks: Bool { isAtLeast(DottedVersion(3, 1, 0)) }

    private func isAtLeast(_ wanted: DottedVersion) -> Bool {
        isOtherSDK || version.map { $0 >= wanted } ?? false
    }
}

/// The impressions of an auction. Larger lists are searched by a hash of the id, so that thousands of impressions and
/// bids cost time in proportion to their number.
private struct ImpressionList {
    private static let fewEnough = 8

    private var impressions: [Impression] = []
    /// The indices of impressions by the hash of their ids; empty for short lists.
    private var indices: [UInt64: [Int]] = [:]

    mutating func removeAll() {
        impressions.removeAll(keepingCapacity: true)
        if !indices.isEmpty { indices.removeAll() }
    }

    mutating func append(_ impression: Impression) {
        impressions.append(impression)
        guard impressions.count > Self.fewEnough else { return }
        if impressions.count == Self.fewEnough + 1 {
            impressions.indices.forEach { add($0) }
        } else {
            add(impressions.count - 1)
        }
    }

    /// Impressions are large: read parts of them in place.
    subscript(index: Int) -> Impression {
        _read { yield impressions[index] }
    }

    /// The index of the first impression with an id.
    func index(ofID id: UnsafeRawBufferPointer) -> Int? {
        guard impressions.count > Self.fewEnough else {
            return impressions.indices.first { impressions[$0].id?.equals(id) == true }
        }
        return indices[RowHasher.hash(id)]?.first { impressions[$0].id?.equals(id) == true }
    }

    private mutating func add(_ index: Int) {
        guard let id = impressions[index].id else { return }
        let existing = indices[RowHasher.hash(id), default: []]
        guard !existing.contains(where: { impressions[$0].id?.equals(id) == true }) else { return }
        indices[RowHasher.hash(id), default: []].append(index)
    }
}
