import JSON
import Signatures

extension RecordKeyReader {
    /// The key of a postback of SKAdNetwork: its transaction id in lower case.
    package func skAdNetworkKey(_ bytes: [UInt8]) throws(Rejection) -> [UInt8] {
        try read(bytes) { value throws(Rejection) in
            try requiredKey(value.member("transaction-id"), "transaction-id").asciiLowercased
        }
    }

    /// The key of a postback of AdAttributionKit: its postback identifier in lower case, which stands
    /// within the JWS. Whether that is Apple's is not asked here.
    package func adAttributionKitKey(_ bytes: [UInt8]) throws(Rejection) -> [UInt8] {
        try read(bytes) { value throws(Rejection) in
            let text = faults.requiredID(value, "jws-string")
            if let rejection = faults.rejection { throw rejection }
            var arena: [UInt8] = []
            guard let jws = CompactJWS(text, arena: &arena) else {
                throw Rejection(.malformedJSON, "jws-string is not a compact JWS")
            }
            let header = arena[jws.header].withUnsafeBytes { try? innerParser.parse($0) }
            guard header?.isObject == true else { throw Self.badPart }
            let payload = arena[jws.payload].withUnsafeBytes { try? innerParser.parse($0) }
            guard let payload, payload.isObject else { throw Self.badPart }
            return try requiredKey(
                payload.member("postback-identifier"), "postback-identifier"
            ).asciiLowercased
        }
    }

    private static let badPart = Rejection(
        .malformedJSON, "jws-string holds a part that is no JSON object")
}

extension [UInt8] {
    /// The bytes with ASCII letters in lower case.
    fileprivate var asciiLowercased: [UInt8] { map(\.asciiLowercased) }
}
