import Pipelines

/// The partners of the configuration, as far as the store has to know them.
struct KnownPartners: Sendable {
    /// Addresses of those that are sent to, by name, as their files have them.
    private(set) var urls: [String: String] = [:]
    /// Those without an address.
    private(set) var off: Set<String> = []

    /// All of a configuration.
    init(_ partners: [Partner]) {
        for partner in partners {
            if partner.delivery.isOff {
                off.insert(partner.name)
            } else {
                urls[partner.name] = partner.delivery.url.text
            }
        }
    }

    /// Partners that are sent to, with their addresses, and those without one.
    init(urls: [String: String], off: Set<String> = []) {
        self.urls = urls
        self.off = off
    }

    /// Why documents for a partner wait for a person; nil when they can be sent.
    func reasonHeld(_ partner: String) -> String? {
        guard urls[partner] == nil else { return nil }
        return off.contains(partner)
            ? DeliveryReason.off.text("partners/\(partner).yaml has no url")
            : DeliveryReason.unknownPartner.text("no file partners/\(partner).yaml")
    }
}
