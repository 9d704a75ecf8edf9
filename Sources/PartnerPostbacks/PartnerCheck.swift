import Dispatch
import JSONReader
import Pipelines
import Synchronization

/// What prevents sending to a partner: what `weir-partner-postbacks` checks at start, and what
/// would otherwise show only with the first document. Nothing is sent; names are resolved.
package struct PartnerCheck: Sendable {
    /// Errors, with file, line and key.
    package private(set) var wrong: [String] = []
    /// Warnings: probably not intended, or possibly temporary.
    package private(set) var doubtful: [String] = []

    /// - Parameter directory: the pipelines directory; paths of secrets are relative to it.
    package static func all(_ partners: [Partner], directory: String) -> [PartnerCheck] {
        all(partners, directory: directory, resolver: SystemResolver())
    }

    /// A name server that does not answer takes long, so all names are asked for at once.
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
                note(try RequestTemplate(partner.delivery), of: partner)
                doubtful.append(
                    "\(url.file): partner \(partner.name) is off: what is for it is held until "
                        + "delivery.url says where to send it; without use for it remove the file")
                return
            }
            let route = try PartnerRoute(partner, directory: directory)
            do throws(ResolutionFault) {
                let addresses = try resolver.addresses(ofHost: route.destination.host)
                if let refusal = route.destination.refusal(of: addresses) {
                    wrong.append(url.fault("is sent nothing: \(refusal)").description)
                }
            } catch {
                doubtful.append(
                    url.fault("has no address now: \(error): documents wait for one").description)
            }
            note(route.template, of: partner)
        } catch {
            wrong.append(error.description)
        }
    }

    /// Renders a document of each kind.
    private mutating func note(_ template: RequestTemplate, of partner: Partner) {
        guard let parser = JSONParser() else { return wrong.append("no memory for a JSON parser") }
        var faults: [(fault: RenderingFault, kinds: [String])] = []
        for sample in SampleDocument.all(partner: partner.name) {
            do throws(UnreadableDocument) {
                let document = try PostbackDocument(Array(sample.text.utf8), parser: parser)
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
                wrong.append("the sample of \(sample.kind) is no document: \(error)")
            }
        }
        for (fault, kinds) in faults {
            let place = "\(partner.delivery.url.file): \(fault)"
            let kinds = kinds.joined(separator: ", ")
            switch fault {
            case .held: doubtful.append("\(place), and is held, in documents of: \(kinds)")
            case .unusable: wrong.append("\(place), in documents of: \(kinds)")
            }
        }
    }
}

/// The request that a partner would be sent for a document, with secrets masked. Nothing is sent.
package struct PartnerPreview: Sendable {
    /// Nil when the document gives no request.
    package let request: PartnerRequest?
    /// Why there is no request, and what would become of the document; nil when there is a request.
    package let fault: String?

    /// Secrets are not read and may be missing.
    package init(
        of document: PostbackDocument, for partner: Partner, timestampSeconds: Int64
    ) throws(ConfigurationError) {
        let template = try RequestTemplate(partner.delivery)
        do throws(RenderingFault) {
            var request = try template.request(document)
            if partner.delivery.secretFile != nil {
                request.headers += [
                    .init("webhook-id", document.idempotencyKey),
                    .init("webhook-timestamp", "\(timestampSeconds)"),
                    .init("webhook-signature", "v1,***", isSecret: true),
                ]
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
