import JSONReader

/// The skadn object of a bid, held against that of its impression (IAB's SKAdNetwork extension of
/// OpenRTB). Malformed members are faults, never rejections.
struct Skadn {
    private let bid: JSONValue
    private let offer: JSONValue?

    /// `offer` is the impression's `ext.skadn`, when it has one.
    init(bid: JSONValue, offer: JSONValue?) {
        self.bid = bid
        self.offer = offer
    }

    var version: UnsafeRawBufferPointer? { Self.text(bid, "version") }

    /// The campaign key, as far as the members are well-formed.
    func campaignKey(_ symbols: inout SymbolTable) -> CampaignKey {
        var key = CampaignKey.unknown
        if let network = Self.text(bid, "network") {
            key.adNetworkID = symbols.internLowercased(network)
        }
        key.campaign =
            Self.identifier(bid, "sourceidentifier", &symbols)
            ?? Self.number(bid, "campaign").map { symbols.intern(decimal: $0) }
            ?? Self.identifier(bid, "campaign", &symbols) ?? .empty
        key.appID = Self.number(bid, "itunesitem") ?? 0
        key.sourceAppID = Self.number(bid, "sourceapp") ?? 0
        return key
    }

    /// The first rule that is broken, in the contract's order.
    var firstFault: SkadnFault? {
        guard bid.isObject, let version, isOffered(version) else { return .version }
        guard isListed(Self.text(bid, "network")) else { return .network }
        guard isSameSourceApp else { return .sourceApp }
        guard Self.number(bid, "itunesitem").map({ $0 >= 0 }) == true else { return .itunesItem }
        let isFourOrLater = DottedVersion(version).map { $0 >= DottedVersion(4, 0) } ?? false
        guard isFourOrLater ? hasSourceIdentifier : hasCampaign else { return .campaign }
        guard isSigned(version) else { return .signature }
        return nil
    }

    private func isOffered(_ version: UnsafeRawBufferPointer) -> Bool {
        guard let offer else { return false }
        if let versions = offer.member("versions"), versions.isArray {
            return versions.elements.contains { $0.string?.equals(version) == true }
        }
        return offer.member("version")?.string?.equals(version) == true
    }

    private func isListed(_ network: UnsafeRawBufferPointer?) -> Bool {
        guard let network, let offer else { return false }
        let list = offer.member("skadnetlist")
        if list?.member("max")?.number != nil { return true }
        return [offer.member("skadnetids"), list?.member("addl")].contains { networks in
            networks?.elements.contains { $0.string?.equalsIgnoringCase(network) == true } == true
        }
    }

    private var isSameSourceApp: Bool {
        guard let offer else { return false }
        if let ours = Self.number(bid, "sourceapp") { return Self.number(offer, "sourceapp") == ours }
        guard let ours = Self.text(bid, "sourceapp"), let theirs = Self.text(offer, "sourceapp")
        else { return false }
        return ours.equals(theirs)
    }

    private var hasSourceIdentifier: Bool {
        guard let value = bid.member("sourceidentifier") else { return false }
        if let text = value.string {
            guard case .number = Digits(text) else { return false }
            return text.count <= 4
        }
        guard case .exact(let number)? = value.number?.asInteger else { return false }
        return (0...9999).contains(number)
    }

    private var hasCampaign: Bool {
        Self.number(bid, "campaign").map { (1...100).contains($0) } ?? false
    }

    private func isSigned(_ version: UnsafeRawBufferPointer) -> Bool {
        guard let version = DottedVersion(version) else { return true }
        if version >= DottedVersion(2, 2) {
            guard let fidelities = bid.member("fidelities"), fidelities.isArray else { return false }
            return !fidelities.elements.isEmpty && fidelities.elements.allSatisfy(Self.isSigned)
        }
        return version < DottedVersion(2, 0) || Self.isSigned(bid)
    }

    private static func isSigned(_ object: JSONValue) -> Bool {
        text(object, "nonce") != nil && number(object, "timestamp") != nil
            && text(object, "signature") != nil
    }

    /// A string that is not empty.
    private static func text(_ object: JSONValue, _ name: StaticString) -> UnsafeRawBufferPointer? {
        guard let text = object.member(name)?.string, !text.isEmpty else { return nil }
        return text
    }

    /// A number, or a string of digits, within 64 bits.
    private static func number(_ object: JSONValue, _ name: StaticString) -> Int64? {
        guard let value = object.member(name) else { return nil }
        if case .exact(let number)? = value.number?.asInteger { return number }
        guard let text = value.string, case .number(let number) = Digits(text) else { return nil }
        return number
    }

    /// A text as it is (a source identifier keeps its zeros), or a number in digits.
    private static func identifier(
        _ object: JSONValue, _ name: StaticString, _ symbols: inout SymbolTable
    ) -> Symbol? {
        if let text = text(object, name) { return symbols.intern(text) }
        guard case .exact(let number)? = object.member(name)?.number?.asInteger else { return nil }
        return symbols.intern(decimal: number)
    }
}
