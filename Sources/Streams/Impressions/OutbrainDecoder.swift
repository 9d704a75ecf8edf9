import JSON

/// Decodes `outbrain.recommendations`: an app's request to Outbrain, and the unchanged answer. One decoder serves all
/// answers, to reuse the memory of its list.
struct RecommendationsDecoder {
    private static let names = JSONNames("request", "response", "test")
    private static let requestNames = JSONNames(
        "widget_id", "widget_index", "test_mode", "test_rtb")
    private static let answerNames = JSONNames("request", "documents")
    private static let documentNames = JSONNames(
        "pc_id", "pc_cmp_id", "disclosure", "sk_adnetwork_data")
    private static let attributionNames = JSONNames(
        "ad_network_id", "itunes_item_id", "source_app_id")
    private static let disclosureNames = JSONNames("icon", "url")

    private var faults = FieldFaults()
    private var documents: [ImpressionsEvent.Recommendations.Document] = []

    mutating func decode(
        _ value: JSONValue, symbols: inout SymbolTable
    ) throws(Rejection) -> ImpressionsDecoder.Decoded {
        faults = FieldFaults()
        documents.removeAll(keepingCapacity: true)
        let members = value.members(Self.names)
        var isTest = faults.flag(members[2], "test") ?? false
        var placement = Symbol.empty
        if let request = faults.requiredObject(members[0], "request") {
            let asked = request.members(Self.requestNames)
            let widget = OutbrainWidget(
                id: asked[0], index: asked[1], &faults, idField: "request.widget_id",
                indexField: "request.widget_index")
            placement = widget.placement(&symbols)
            let isTestMode = faults.flag(asked[2], "request.test_mode") ?? false
            let isTestRTB = faults.flag(asked[3], "request.test_rtb") ?? false
            isTest = isTest || isTestMode || isTestRTB
        }
        var requestID = UnsafeRawBufferPointer(start: nil, count: 0)
        if let response = faults.requiredObject(members[1], "response") {
            requestID = readAnswer(response, &symbols)
        }
        if let rejection = faults.rejection { throw rejection }
        return (
            .recommendations(
                .init(placement: placement, documents: documents, isTest: isTest)), requestID
        )
    }

    /// Reads the answer in the body's member `response`, or in the body itself if it is unwrapped.
    private mutating func readAnswer(
        _ body: JSONValue, _ symbols: inout SymbolTable
    ) -> UnsafeRawBufferPointer {
        let wrapped = body.member("response")
        let answer = wrapped == nil ? body : faults.object(wrapped, "response.response")
        guard let answer else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        let members = answer.members(Self.answerNames)
        let found = faults.object(members[1], "response.documents")
        if let list = found?.member("doc") { readDocuments(list, &symbols) }
        guard let request = faults.requiredObject(members[0], "response.request") else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return faults.requiredID(request, "req_id", field: "response.request.req_id")
    }

    private mutating func readDocuments(_ list: JSONValue, _ symbols: inout SymbolTable) {
        if !list.isArray { faults.report(.wrongType, "response.documents.doc", "is not an array") }
        for document in list.elements {
            guard document.isObject else {
                faults.report(.wrongType, "response.documents.doc[]", "is not an object")
                continue
            }
            documents.append(self.document(document, &symbols))
        }
    }

    private mutating func document(
        _ document: JSONValue, _ symbols: inout SymbolTable
    ) -> ImpressionsEvent.Recommendations.Document {
        let members = document.members(Self.documentNames)
        var campaign = CampaignKey.unknown
        campaign.campaign = self.campaign(members[1], &symbols)
        readAttribution(members[3], into: &campaign, &symbols)
        // A present, non-empty id means paid; `ads_type` is not trusted.
        let isPaid = members[0].map { $0.string?.isEmpty != true } ?? false
        return .init(campaign: campaign, isPaid: isPaid, isRTB: isRTB(members[2]))
    }

    /// Outbrain's own campaign id; the id in `sk_adnetwork_data` is Apple's.
    private mutating func campaign(
        _ value: JSONValue?, _ symbols: inout SymbolTable
    ) -> Symbol {
        let field: StaticString = "response.documents.doc[].pc_cmp_id"
        if let text = value?.string, case .notDigits = Digits(text) { return symbols.intern(text) }
        return faults.identifier(value, field).map { symbols.intern(decimal: $0) } ?? .empty
    }

    private mutating func readAttribution(
        _ value: JSONValue?, into campaign: inout CampaignKey, _ symbols: inout SymbolTable
    ) {
        let field: StaticString = "response.documents.doc[].sk_adnetwork_data"
        guard let attribution = faults.object(value, field) else { return }
        let members = attribution.members(Self.attributionNames)
        if let network = faults.text(members[0], "sk_adnetwork_data.ad_network_id") {
            campaign.adNetworkID = symbols.internLowercased(network)
        }
        campaign.appID = faults.identifier(members[1], "sk_adnetwork_data.itunes_item_id") ?? 0
        campaign.sourceAppID = faults.identifier(members[2], "sk_adnetwork_data.source_app_id") ?? 0
    }

    private mutating func isRTB(_ value: JSONValue?) -> Bool {
        guard let disclosure = faults.object(value, "response.documents.doc[].disclosure") else {
            return false
        }
        let members = disclosure.members(Self.disclosureNames)
        let icon = faults.text(members[0], "disclosure.icon")
        let url = faults.text(members[1], "disclosure.url")
        return icon?.isEmpty == false && url?.isEmpty == false
    }
}

extension ImpressionsDecoder {
    private static let names = JSONNames(
        "request_id", "widget_id", "widget_index", "elapsed_ms", "test")

    /// `outbrain.widget_viewed`.
    static func widgetView(
        _ value: JSONValue, _ symbols: inout SymbolTable
    ) throws(Rejection) -> Decoded {
        var faults = FieldFaults()
        let members = value.members(Self.names)
        let requestID = faults.requiredID(members[0], "request_id")
        let widget = OutbrainWidget(id: members[1], index: members[2], &faults)
        let elapsed = faults.requiredInteger(members[3], "elapsed_ms")
        let ad = ImpressionsEvent.Ad(
            key: AdKey(
                format: .outbrain, placement: widget.placement(&symbols), campaign: .unknown),
            fate: .widgetViewed(isStale: elapsed > ImpressionsEvent.staleBeyondMilliseconds),
            isTest: faults.flag(members[4], "test") ?? false)
        if let rejection = faults.rejection { throw rejection }
        return (.ad(ad), requestID)
    }
}

/// Decodes `outbrain.listings_viewed`. One decoder serves all records, to reuse the memory of its list.
struct ListingsDecoder {
    private static let names = JSONNames("widget_id", "widget_index", "listings", "test")
    private static let listingNames = JSONNames("request_id", "position", "time_elapsed_ms")

    private var faults = FieldFaults()
    private var listings: [ImpressionsEvent.Listings.Listing] = []

    /// Decodes a record, and returns the id of its listings' request too.
    mutating func decode(
        _ value: JSONValue, symbols: inout SymbolTable
    ) throws(Rejection) -> ImpressionsDecoder.Decoded {
        faults = FieldFaults()
        let members = value.members(Self.names)
        let widget = OutbrainWidget(id: members[0], index: members[1], &faults)
        let requestID = readListings(members[2])
        let isTest = faults.flag(members[3], "test") ?? false
        if let rejection = faults.rejection { throw rejection }
        return (
            .listings(
                .init(placement: widget.placement(&symbols), listings: listings, isTest: isTest)),
            requestID
        )
    }

    private mutating func readListings(_ value: JSONValue?) -> UnsafeRawBufferPointer {
        listings.removeAll(keepingCapacity: true)
        var requestID: UnsafeRawBufferPointer?
        guard let value else { return faults.missing("listings") }
        if !value.isArray { faults.report(.wrongType, "listings", "is not an array") }
        for listing in value.elements {
            guard listing.isObject else {
                faults.report(.wrongType, "listings[]", "is not an object")
                continue
            }
            let members = listing.members(Self.listingNames)
            let id = faults.requiredID(members[0], "listings[].request_id")
            let position = faults.requiredIdentifier(members[1], "listings[].position")
            let elapsed = faults.requiredInteger(members[2], "listings[].time_elapsed_ms")
            if let requestID, !requestID.equals(id) {
                faults.report(.outOfRange, "listings", "name more than one request")
            }
            requestID = id
            listings.append(
                .init(
                    position: position,
                    isStale: elapsed > ImpressionsEvent.staleBeyondMilliseconds))
        }
        guard let requestID else {
            faults.report(.outOfRange, "listings", "name no request")
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return requestID
    }
}
