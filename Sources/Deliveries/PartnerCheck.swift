import ConfigurationValues
import Dispatch
import HTTPClient
import JSON
import Store
import Streams
import Synchronization

/// Finds faults that prevent sending to a partner: those that `weir-partner-postbacks` checks at start, and those
/// that would otherwise show only with the first document. It sends nothing, but resolves names.
package struct PartnerCheck: Sendable {
    /// Errors, with file, line and key.
    package private(set) var wrong: [String] = []
    /// Warnings: probably not intended, or possibly temporary.
    package private(set) var doubtful: [String] = []

    /// - Parameter directory: the pipelines directory; paths of secrets are relative to it.
    package static func all(_ partners: [Partner], directory: String) -> [PartnerCheck] {
        all(partners, directory: directory, resolver: SystemResolver())
    }

    /// An unresponsive name server takes long, so all names are resolved at once.
    static func all(
        _ partners: [Partner], directory: String, resolver: any HostResolver
    ) -> [PartnerCheck] {
        let checks = Mutex([PartnerCheck](repeating: PartnerCheck(), count: partners.count))
        DispatchQueue.concurrentPerform(iterations: partners.count) { index in
            let check = PartnerCheck(partners[index], directory: directory, resolver: resolver)
            checks.withLock { $0[index] = check }
        }
        return checks.withLock { $0 }
    }

    private init() {}

    private init(_ partner: Partner, directory: String, resolver: any HostResolver) {
        let url = partner.delivery.url
        do throws(ConfigurationError) {
            guard !partner.delivery.isOff else {
                // A partner that is off may not have its secrets yet.
                add(try RequestTemplate(partner.delivery), of: partner)
                doubtful.append(
                    "\(url.file): partner \(partner.name) is off, and its documents are held: set delivery.url, "
                        + "or delete the file if you do not need it")
                return
            }
            let route = try PartnerRoute(partner, directory: directory)
            do throws(ResolutionFault) {
                let addresses = try resolver.addresses(ofHost: route.destination.host)
                if let refusal = route.destination.refusal(of: addresses) {
                    wrong.append(url.fault("cannot be used: \(refusal)").description)
                }
            } catch {
                doubtful.append(
                    url.fault("cannot be resolved now: \(error): documents wait until it can")
                        .description)
            }
            add(route.template, of: partner)
        } catch {
            wrong.append(error.description)
        }
    }

    /// Renders a document of each kind.
    private mutating func add(_ template: RequestTemplate, of partner: Partner) {
        guard let parser = JSONParser() else { return wrong.append("no memory for a JSON parser") }
        var faults: [(fault: RenderingFault, kinds: [String])] = []
        for sample in SampleDocument.all(partner: partner.name) {
            do throws(UnreadableDocument) {
                let document = try DeliveryDocument(Array(sample.text.utf8), parser: parser)
                do throws(RenderingFault) {
                    _ = try template.request(document)
                } catch {
                    if let index = faults.firstIndex(where: { $0.fault == error }) {
                        faults[index].kinds.append(sample.kind)
                    } else {
                        faults.append((error, [sample.kind]))
                    }
                }
            } catch {
                wrong.append("the sample of \(sample.kind) is not a document: \(error)")
            }
        }
        for (fault, kinds) in faults {
            let finding = "\(partner.delivery.url.file): \(fault)"
            let kinds = kinds.joined(separator: ", ")
            switch fault {
            case .held: doubtful.append("\(finding), so these documents are held: \(kinds)")
            case .unusable: wrong.append("\(finding), in these documents: \(kinds)")
            }
        }
    }
}

/// A partner's request for a document, with secrets masked. Nothing is sent.
package struct PartnerPreview: Sendable {
    /// Nil if the document does not result in a request.
    package let request: OutgoingRequest?
    /// Why `request` is nil, and what would happen to the document; otherwise nil.
    package let fault: String?

    /// Secrets are not read and may be missing.
    package init(
        of document: DeliveryDocument, for partner: Partner, timestampSeconds: Int64
    ) throws(ConfigurationError) {
        let template = try RequestTemplate(partner.delivery)
        do throws(RenderingFault) {
            var request = try template.request(document)
            if partner.delivery.secretFile != nil {
                request.sign(
                    "v1,***", key: document.idempotencyKey, timestampSeconds: timestampSeconds)
            }
            self.request = request
            fault = nil
        } catch {
            request = nil
            let state: DeliveryState =
                switch error {
                case .held: .held
                case .unusable: .dead
                }
            fault = "it would be \(state.rawValue): \(error)"
        }
    }
}

/// A document of one kind, for checking templates before the first real one.
struct SampleDocument {
    /// The kind in words.
    let kind: String
    /// The JSON as it would be in the topic.
    let text: String

    private static let id = "2d0136c18b5007e0d205543c5bf2f427"

    /// One document of each kind. The kind decides which fields exist; the values are arbitrary.
    static func all(partner: String) -> [SampleDocument] {
        func sample(
            _ kind: String, _ postback: Members, _ conversion: String, name: String? = "spring",
            supersedes: String? = nil, withdrawn: String = ""
        ) -> SampleDocument {
            var document = PartnerDocument(
                stored: """
                    {"id":"\(id)","revision":\(supersedes == nil ? 1 : 2),\(withdrawn)\
                    "partner":"\(partner)","postback":\(postback.json),"conversion":\(conversion),\
                    \(surroundings)}
                    """, id: id, revision: 1)
            document.supersedes = supersedes
            let sample = PartnerPostback(
                document: document, partner: partner, partition: 2, originOffset: 1,
                adNetworkID: "com.example", campaign: "5239", hasSourceIdentifier: true,
                appID: 525_463_029, sourceAppID: 0)
            return SampleDocument(
                kind: kind,
                text: sample.published(name: name, network: name, app: name, mediaSource: name))
        }
        let fine = skAdNetwork4 + ["conversion_value": "63"]
        return [
            sample("SKAdNetwork 1.0", skAdNetwork1, nothing),
            sample("SKAdNetwork 2.0", skAdNetwork2, decoded),
            sample("SKAdNetwork 2.1", skAdNetwork2 + ["version": #""2.1""#], decoded),
            sample("SKAdNetwork 2.2", skAdNetwork22, decoded),
            sample("SKAdNetwork 3.0", skAdNetwork3, decoded),
            sample("SKAdNetwork 4.0", fine, decoded),
            sample(
                "SKAdNetwork 4.0 with a coarse value",
                skAdNetwork4
                    + ["coarse_conversion_value": #""low""#, "postback_sequence_index": "2"],
                coarse),
            sample("SKAdNetwork 4.0 without a value", skAdNetwork4, nothing),
            sample("AdAttributionKit", adAttributionKit, decoded),
            sample(
                "AdAttributionKit without a value",
                adAttributionKit.filter {
                    $0.key != "conversion_value" && $0.key != "country_code"
                },
                nothing),
            sample("a campaign without names", fine, decoded, name: nil),
            sample("a correction", fine, decoded, supersedes: "\(id):1"),
            sample(
                "a withdrawn postback", fine, "null", supersedes: "\(id):1",
                withdrawn: #""withdrawn":true,"#),
        ]
    }
}

/// Members of a JSON object; the values are JSON.
private typealias Members = [String: String]

extension Members {
    fileprivate static func + (left: Members, right: Members) -> Members {
        left.merging(right) { _, new in new }
    }

    fileprivate var json: String {
        var json = JSONText()
        json.object { json in
            for (name, value) in sorted(by: { $0.key < $1.key }) {
                json.name(name)
                json.raw(value)
            }
        }
        return json.text
    }
}

extension SampleDocument {
    /// Apple signs different fields in each version, so documents differ too.
    private static let skAdNetwork1: Members = [
        "version": #""1.0""#, "ad_network_id": #""com.example""#, "campaign_id": "42",
        "transaction_id": #""6aafb7a5-0170-41b5-bbe4-fe71dedf1e28""#, "app_id": "525463029",
        "attribution_signature": #""MEUC""#, "redownload": "false",
    ]
    private static let skAdNetwork2 =
        skAdNetwork1 + [
            "version": #""2.0""#, "source_app_id": "1234567891", "conversion_value": "20",
        ]
    private static let skAdNetwork22 =
        skAdNetwork2 + ["version": #""2.2""#, "fidelity_type": "1"]
    private static let skAdNetwork3 =
        skAdNetwork22 + ["version": #""3.0""#, "did_win": "true"]
    private static let skAdNetwork4: Members = [
        "version": #""4.0""#, "ad_network_id": #""com.example""#, "source_identifier": #""5239""#,
        "transaction_id": #""6aafb7a5-0170-41b5-bbe4-fe71dedf1e30""#, "app_id": "525463029",
        "attribution_signature": #""MEUC""#, "redownload": "false",
        "source_domain": #""example.com""#, "fidelity_type": "1", "did_win": "true",
        "postback_sequence_index": "0",
    ]
    private static let adAttributionKit: Members = [
        "jws_string": #""eyJh.eyJw.c2ln""#, "ad_interaction_type": #""click""#,
        "conversion_value": "24", "country_code": #""US""#,
        "postback_identifier": #""85546EB7-FD39-44BC-8990-C98A4AC36A49""#,
        "ad_network_identifier": #""com.example""#, "source_identifier": #""1234""#,
        "advertised_item_identifier": "525463029", "publisher_item_identifier": "0",
        "marketplace_identifier": #""com.apple.AppStore""#, "impression_type": #""app-impression""#,
        "conversion_type": #""download""#, "postback_sequence_index": "0", "did_win": "true",
    ]

    private static let decoded = """
        {"value":20,"coarse":null,"model":"v1","events":[{"name":"purchase","count_min":1,\
        "count_max":2}],"revenue":{"min":1,"max":2.5,"currency":"USD"},"ambiguous":false}
        """
    private static let coarse = """
        {"value":null,"coarse":"low","model":"v1","events":[],"revenue":null,"ambiguous":false}
        """
    private static let nothing = """
        {"value":null,"coarse":null,"model":null,"events":[],"revenue":null,"ambiguous":false}
        """
    private static let surroundings = """
        "install_window":{"earliest":"2026-11-17T05:28:00Z","latest":"2026-11-20T05:28:00Z"},\
        "received_at":"2026-11-21T05:28:00Z","origin":{"topic":"postbacks","partition":2,"offset":1}
        """
}
