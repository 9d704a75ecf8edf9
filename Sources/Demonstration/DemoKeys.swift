import Foundation

/// The keys of the demo. They follow from public texts, so whoever reads this can sign with them: trust them nowhere
/// but in the demo's own configuration.
struct DemoKeys: Sendable {
    /// Signs postbacks in Apple's place.
    let attribution: DemoSigner
    /// Signs the ads of the network whose key the catalog has.
    let network: DemoSigner
    /// Signs notifications in the App Store's place.
    private let store: DemoSigner
    private let storeHeader: String

    /// The key id of the AdAttributionKit key.
    static let keyID = "weir-demo-attribution/0"

    init() throws {
        attribution = try DemoSigner("Weir demo, attribution")
        network = try DemoSigner("Weir demo, network")
        store = try DemoSigner("Weir demo, App Store leaf")
        let chain = [DemoChain.leaf, DemoChain.intermediate, DemoChain.root]
        storeHeader = Self.base64URL(
            "{\"alg\":\"ES256\",\"x5c\":[\(chain.map { "\"\($0)\"" }.joined(separator: ","))]}")
    }

    /// DER in base64 over fields joined by U+2063.
    static func signature(_ key: DemoSigner, over fields: [String]) throws -> String {
        let text = Data(fields.joined(separator: "\u{2063}").utf8)
        return try key.signature(for: text).derRepresentation.base64EncodedString()
    }

    /// A compact JWS as the App Store sends it.
    func storeJWS(_ payload: String) throws -> String {
        try Self.jws(header: storeHeader, payload: payload, with: store)
    }

    /// A compact JWS of the App Store's form whose signature does not hold.
    func forgedStoreJWS(_ payload: String) throws -> String {
        try Self.jws(header: storeHeader, payload: payload, with: network)
    }

    func attributionJWS(_ payload: String) throws -> String {
        let header = Self.base64URL("{\"kid\":\"\(Self.keyID)\",\"alg\":\"ES256\"}")
        return try Self.jws(header: header, payload: payload, with: attribution)
    }

    private static func jws(
        header: String, payload: String, with key: DemoSigner
    ) throws -> String {
        let input = header + "." + base64URL(payload)
        return try input + "." + base64URL(key.signature(for: Data(input.utf8)).rawRepresentation)
    }

    private static func base64URL(_ text: String) -> String { base64URL(Data(text.utf8)) }

    private static func base64URL(_ bytes: Data) -> String {
        // By bytes: a search for each of the characters takes longer than the signature.
        let digits = bytes.base64EncodedData().compactMap { digit -> UInt8? in
            switch digit {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: digit
            }
        }
        return String(decoding: digits, as: UTF8.self)
    }
}

/// Certificates shaped as Apple's, in base64: valid from 2020 to 2048. The keys of root and intermediate are destroyed.
enum DemoChain {
    static let leaf = """
        MIIBmTCCASCgAwIBAgIBAzAKBggqhkjOPQQDAzAwMR8wHQYDVQQDDBZXZWlyIERlbW8gSW50ZXJtZWRpYXRlMQ0wCwYDVQQKDARX\
        ZWlyMB4XDTIwMDEwMTAwMDAwMFoXDTQ5MDEwMTAwMDAwMFowKTEYMBYGA1UEAwwPV2VpciBEZW1vIFN0b3JlMQ0wCwYDVQQKDARX\
        ZWlyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEhSm0zd0XuNVM1Dbk+m9JmQOvOC97Slsaf+vlp5134+pCf+BYSbv3/gQamz/n\
        Qa5rt9RF+4vCdJpFQf5nx1+NAKMyMDAwDAYDVR0TAQH/BAIwADAOBgNVHQ8BAf8EBAMCB4AwEAYKKoZIhvdjZAYLAQQCBQAwCgYI\
        KoZIzj0EAwMDZwAwZAIwF/MTC7iWlvlp1vkMUHnHRUm9VRkgYEnw/TVX7A+kDdGTjvVFHdGDKdwyqaqoUz2lAjA3COwCI5JO1B18\
        MRtEctJdjN501bmx4kTccttrlgvxcx0wErOGOaP/KBtPOfZg2PU=
        """
    static let intermediate = """
        MIIBujCCAT+gAwIBAgIBAjAKBggqhkjOPQQDAzAoMRcwFQYDVQQDDA5XZWlyIERlbW8gUm9vdDENMAsGA1UECgwEV2VpcjAeFw0y\
        MDAxMDEwMDAwMDBaFw00OTAxMDEwMDAwMDBaMDAxHzAdBgNVBAMMFldlaXIgRGVtbyBJbnRlcm1lZGlhdGUxDTALBgNVBAoMBFdl\
        aXIwdjAQBgcqhkjOPQIBBgUrgQQAIgNiAAS5bNe8HDN/UeOO2uM0EXhGC9Yo6HWfmBfLZgYHwuHzWKrqeefn0C2MBvCvtQYeKpg8\
        AWcmJSFzvFyT9UPKNUZ/wDFec5ccRRdyx7u6ZtXXwCtptmbIkwgrJFk9HZZLjTKjNTAzMA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0P\
        AQH/BAQDAgEGMBAGCiqGSIb3Y2QGAgEEAgUAMAoGCCqGSM49BAMDA2kAMGYCMQCKVSlrkQsgUE5ug425SLiAYf7RxYzpMnv1JO2A\
        /EDaHhO3f/CTngbqyJxOCUHO6LUCMQCMznK9V0Ad43zX/XCDNASXzsmeR7auAh2DMHTPpNzeTvTrWAOU2MImwxA5BAKZ1xI=
        """
    static let root = """
        MIIBnjCCASWgAwIBAgIBATAKBggqhkjOPQQDAzAoMRcwFQYDVQQDDA5XZWlyIERlbW8gUm9vdDENMAsGA1UECgwEV2VpcjAeFw0y\
        MDAxMDEwMDAwMDBaFw00OTAxMDEwMDAwMDBaMCgxFzAVBgNVBAMMDldlaXIgRGVtbyBSb290MQ0wCwYDVQQKDARXZWlyMHYwEAYH\
        KoZIzj0CAQYFK4EEACIDYgAEgPJ4gCXakvexvdFL6y6K4euqiEl3utP4aNRbRpfh5ZxEkWDj7RLmElL6bTJw2g4nXsCKv3qUkcq2\
        EJv+DqjeZz8su/bwdDu19PpZhOui6/xEVCVshrEwFIhB3LgPDxhVoyMwITAPBgNVHRMBAf8EBTADAQH/MA4GA1UdDwEB/wQEAwIB\
        BjAKBggqhkjOPQQDAwNnADBkAjBONLyDttC9GdoAOZQO+R9S4A7MfmgZpMRg5zLg0ucgTL93hh/VOikyg9AOyI/BpBICMAL/KXw2\
        h692FxN2MbvMzHG2w3GiywBrJDKU4zuCXmp5GN8dWln9GgNK7+S/WfzbMg==
        """

    static var rootPEM: String {
        var text = "-----BEGIN CERTIFICATE-----\n"
        var rest = root[...]
        while !rest.isEmpty {
            text += rest.prefix(64) + "\n"
            rest = rest.dropFirst(64)
        }
        return text + "-----END CERTIFICATE-----\n"
    }
}
