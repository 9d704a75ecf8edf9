import ConfigurationValues
import Foundation

/// The columns that group signals: the publisher's app, the advertised app, and the campaign as records name it.
struct SignalKey {
    let network: String
    let sourceApp: Int64
    let app: Int64
    let campaign: String
    let kind: CampaignIDKind
}

/// The unverified identity of a postback, for SKAdNetwork or AdAttributionKit. A conflict has the verdict of the
/// accepted copy.
struct PostbackClaim {
    let key: SignalKey

    init?(_ bytes: [UInt8]) {
        guard let document = Self.object(Data(bytes)) else { return nil }
        var names = ["ad-network-id", "app-id", "source-app-id"]
        var kind = CampaignIDKind(skanVersion: document["version"] as? String ?? "")
        var claims = document
        if let jws = document["jws-string"] as? String {
            let parts = jws.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 3 else { return nil }
            var text = parts[1].replacing("-", with: "+").replacing("_", with: "/")
            text += String(repeating: "=", count: (4 - text.count % 4) % 4)
            guard let payload = Data(base64Encoded: String(text)).flatMap(Self.object) else {
                return nil
            }
            claims = payload
            kind = .sourceIdentifier
            names = [
                "ad-network-identifier", "advertised-item-identifier",
                "publisher-item-identifier",
            ]
        }
        guard let network = claims[names[0]] as? String else { return nil }
        func integer(_ value: Any?) -> Int64 {
            (value as? NSNumber)?.int64Value ?? (value as? String).flatMap { Int64($0) } ?? 0
        }
        let campaign = claims[kind == .campaignID ? "campaign-id" : "source-identifier"]
        key = SignalKey(
            network: String(
                decoding: network.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 },
                as: UTF8.self),
            sourceApp: integer(claims[names[2]]), app: integer(claims[names[1]]),
            campaign: campaign as? String ?? (campaign as? NSNumber)?.stringValue ?? "",
            kind: kind)
    }

    private static func object(_ data: Data) -> [String: Any]? {
        (try? JSONSerialization.jsonObject(with: data)) as? [String: Any]
    }
}
