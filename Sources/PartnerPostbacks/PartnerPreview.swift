import JSONReader
import Pipelines

/// What would be sent to a partner for a document, with secrets masked and nothing sent.
package struct PartnerPreview: Sendable {
    /// The request; nil when the document gives none.
    package let request: PartnerRequest?
    /// Why it gives none, and what would become of it; nil when it gives one.
    package let fault: String?

    /// Renders a document for a partner. Secrets are not read: they need not be there.
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
