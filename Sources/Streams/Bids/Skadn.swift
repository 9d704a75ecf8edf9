import JSON

/// The skadn object of a bid (IAB's SKAdNetwork extension of OpenRTB). Malformed members are faults, never rejections.
struct Skadn {
    private static let bidNames = JSONNames(
        "version", "network", "campaign", "sourceidentifier", "itunesitem", "sourceapp",
        "fidelities", "skoverlay", "nonce", "timestamp", "signature")
    private static let fidelityNames = JSONNames("nonce", "timestamp", "signature")

    /// The version in the bid; nil if it is not a text.
    let version: UnsafeRawBufferPointer?
    let overlay: JSONValue?
    private let number: DottedVersion?
    private let network: UnsafeRawBufferPointer?
    private let campaign: Int64?
    private let sourceIdentifier: JSONValue?
    private let itunesItem: Int64?
    private let sourceApp: SkadnSourceApp
    private let fidelities: JSONValue?
    private let isSignedAtRoot: Bool

    init(_ bid: JSONValue) {
        let members = bid.members(Self.bidNames)
        version = members[0]?.skadnText
        number = version.flatMap { DottedVersion($0) }
        network = members[1]?.skadnText
        campaign = members[2]?.skadnNumber
        sourceIdentifier = members[3]
        itunesItem = members[4]?.skadnNumber
        sourceApp = SkadnSourceApp(members[5])
        fidelities = members[6]
        overlay = members[7]
        isSignedAtRoot = Self.isSigned(members[8], members[9], members[10])
    }

    func campaignKey(_ symbols: inout SymbolTable) -> CampaignKey {
        CampaignKey(
            adNetworkID: network.map { symbols.internLowercased($0) } ?? .empty,
            campaign: sourceIdentifier.flatMap { Self.digits($0, &symbols) }
                ?? campaign.map { symbols.intern(decimal: $0) } ?? .empty,
            appID: itunesItem ?? 0,
            sourceAppID: sourceApp.number ?? 0)
    }

    /// The first violated rule, in the contract's order, compared with the impression's offer.
    func firstFault(offer: SkadnOffer?) -> SkadnFault? {
        guard let version, let offer, offer.offers(version: version) else { return .version }
        guard let network, offer.lists(network: network) else { return .network }
        guard sourceApp.isSame(as: offer.sourceApp) else { return .sourceApp }
        guard itunesItem != nil else { return .itunesItem }
        guard hasCampaign else { return .campaign }
        guard isSigned else { return .signature }
        return nil
    }

    /// Versions beyond 4.0 have no rule yet.
    private var hasCampaign: Bool {
        guard let number, number >= DottedVersion(4, 0) else {
            return campaign.map { (1...100).contains($0) } ?? false
        }
        return number > DottedVersion(4, 0) || hasSourceIdentifier
    }

    private var hasSourceIdentifier: Bool {
        guard let sourceIdentifier else { return false }
        if let text = sourceIdentifier.string {
            guard case .number = Digits(text) else { return false }
            return text.count <= 4
        }
        return sourceIdentifier.skadnNumber.map { $0 <= 9999 } ?? false
    }

    private var isSigned: Bool {
        guard let number else { return true }
        if number >= DottedVersion(2, 2) {
            guard let fidelities, fidelities.isArray else { return false }
            return !fidelities.elements.isEmpty && fidelities.elements.allSatisfy(Self.isSigned)
        }
        return number < DottedVersion(2, 0) || isSignedAtRoot
    }

    private static func isSigned(_ fidelity: JSONValue) -> Bool {
        let members = fidelity.members(Self.fidelityNames)
        return isSigned(members[0], members[1], members[2])
    }

    private static func isSigned(
        _ nonce: JSONValue?, _ timestamp: JSONValue?, _ signature: JSONValue?
    ) -> Bool {
        nonce?.skadnText != nil && timestamp?.skadnNumber != nil && signature?.skadnText != nil
    }

    /// A string of digits unchanged (a source identifier keeps its zeros), or a number in digits.
    private static func digits(_ value: JSONValue, _ symbols: inout SymbolTable) -> Symbol? {
        if let text = value.skadnText {
            if case .notDigits = Digits(text) { return nil }
            return symbols.intern(text)
        }
        return value.skadnNumber.map { symbols.intern(decimal: $0) }
    }
}

/// A source app: an App Store id if it consists of digits, otherwise a bundle's name.
struct SkadnSourceApp {
    let number: Int64?
    private let text: UnsafeRawBufferPointer?

    init(_ value: JSONValue?) {
        number = value?.skadnNumber
        text = value?.skadnText
    }

    /// False if either is missing.
    func isSame(as other: SkadnSourceApp) -> Bool {
        if let number { return number == other.number }
        guard let text, let theirs = other.text else { return false }
        return text.equals(theirs)
    }
}

/// The skadn object of an impression: the allowed answers of a bid.
struct SkadnOffer {
    private static let offerNames = JSONNames(
        "sourceapp", "skoverlay", "versions", "version", "skadnetids", "skadnetlist")

    let sourceApp: SkadnSourceApp
    /// The overlay signal: a list of attributes, or 1.
    let overlay: JSONValue?
    private let versions: JSONValue?
    private let version: JSONValue?
    private let networks: JSONValue?
    private let networkList: JSONValue?

    init(_ offer: JSONValue) {
        let members = offer.members(Self.offerNames)
        sourceApp = SkadnSourceApp(members[0])
        overlay = members[1]
        versions = members[2]
        version = members[3]
        networks = members[4]
        networkList = members[5]
    }

    func offers(version wanted: UnsafeRawBufferPointer) -> Bool {
        guard let versions else { return version?.string?.equals(wanted) == true }
        return versions.elements.contains { $0.string?.equals(wanted) == true }
    }

    func lists(network: UnsafeRawBufferPointer) -> Bool {
        networkList?.member("max") != nil || Self.holds(networks, network)
            || Self.holds(networkList?.member("addl"), network)
    }

    private static func holds(_ networks: JSONValue?, _ network: UnsafeRawBufferPointer) -> Bool {
        networks?.elements.contains { $0.string?.equalsIgnoringCase(network) == true } == true
    }
}

extension JSONValue {
    var skadnText: UnsafeRawBufferPointer? {
        guard let text = string, !text.isEmpty else { return nil }
        return text
    }

    /// A non-negative number or a string of digits, within 64 bits.
    var skadnNumber: Int64? {
        if let text = string {
            guard case .number(let number) = Digits(text) else { return nil }
            return number
        }
        guard case .exact(let number)? = number?.asInteger, number >= 0 else { return nil }
        return number
    }
}
