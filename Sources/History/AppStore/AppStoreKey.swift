import Crypto
import DatabaseFiles
import Foundation
import JSON
import Wording

/// A key of the App Store Server API, which signs the token of each request. The key itself is never printed.
/// https://developer.apple.com/documentation/appstoreserverapi/creating-api-keys-to-authorize-api-requests
package struct AppStoreKey: Sendable {
    /// Apple allows 60 minutes. A token is for one request, which takes at most a minute.
    private static let lifetimeSeconds: Int64 = 300
    /// App Store Connect names the file `SubscriptionKey_2X9R4HXF34.p8`.
    private static var fileName: Regex<(Substring, Substring)> {
        /(?:SubscriptionKey|AuthKey)_([A-Za-z0-9]+)\.p8/
    }

    /// The most characters of an id in a message or request: a key in its place would be longer.
    private static let longestID = 64

    /// The key id of App Store Connect.
    package let id: String
    private let issuerID: String
    private let key: P256.Signing.PrivateKey

    /// Reads the file that App Store Connect offers once for download.
    ///
    /// - Parameters:
    ///   - id: the key id; nil for the id in the name of the file.
    ///   - issuerID: the issuer id of the team.
    package init(path: String, id: String?, issuerID: String) throws(AppStoreKeyFault) {
        // These values are printed or sent, so a key must not be among them.
        guard !path.contains("PRIVATE KEY-----"), !path.contains("\n") else { throw .contentAsPath }
        guard Self.isID(issuerID) else { throw .badID("--issuer-id") }
        if let id, !Self.isID(id) { throw .badID("--key-id") }
        let text: String
        do {
            text = try RegularFile.text(of: path)
        } catch {
            throw .unreadable(path: path, error)
        }
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: text) else {
            throw .notAKey(path: path)
        }
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        guard let id = id ?? (try? Self.fileName.wholeMatch(in: name)).map({ String($0.1) }) else {
            throw .noID(path: path)
        }
        self.id = id
        self.issuerID = issuerID
        self.key = key
    }

    /// Whether a text has the form of ids of App Store Connect: letters, digits and hyphens.
    private static func isID(_ text: String) -> Bool {
        (1...longestID).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") }
    }

    /// A JSON Web Token for a request about an app.
    /// https://developer.apple.com/documentation/appstoreserverapi/generating-json-web-tokens-for-api-requests
    func token(bundleID: String, atSeconds now: Int64) throws -> String {
        var header = JSONText()
        header.object { header in
            header.member("alg", "ES256")
            header.member("kid", id)
            header.member("typ", "JWT")
        }
        var claims = JSONText()
        claims.object { claims in
            claims.member("iss", issuerID)
            claims.member("iat", now)
            claims.member("exp", now + Self.lifetimeSeconds)
            claims.member("aud", "appstoreconnect-v1")
            claims.member("bid", bundleID)
        }
        let signed = "\(Base64.url.encode(header.bytes)).\(Base64.url.encode(claims.bytes))"
        let signature = try key.signature(for: Data(signed.utf8))
        return "\(signed).\(Base64.url.encode(signature.rawRepresentation))"
    }
}

/// Why a file is not usable as a key of the App Store Server API.
package enum AppStoreKeyFault: OperatorError, Equatable {
    case unreadable(path: String, RegularFileError)
    /// The content of a key instead of its path. It is not printed.
    case contentAsPath
    /// The option has no id of App Store Connect. Its value is not printed.
    case badID(String)
    case notAKey(path: String)
    /// The name of the file does not contain the key id, and it was not given.
    case noID(path: String)

    package var description: String {
        switch self {
        case .unreadable(let path, let error):
            "the key file \(Self.shown(path)) \(error), or give the .p8 file that App Store Connect offered for download"
        case .contentAsPath:
            "--key-file is not a path: give the path of the .p8 file, and not its content"
        case .badID(let option):
            "\(option) is not an id of App Store Connect, which has letters, digits and hyphens: copy it from there"
        case .notAKey(let path):
            "\(path) is not a private key in PEM on P-256: give the .p8 file of an In-App Purchase key from App Store Connect"
        case .noID(let path):
            "the name of \(path) does not contain the key id: give --key-id, as App Store Connect lists it"
        }
    }

    /// A path for a message, unless it could be the digits of a key.
    private static func shown(_ path: String) -> String {
        let isLong = path.split(separator: "/").contains { $0.count > longestName }
        return isLong ? "(its long name is not printed)" : path
    }

    /// A name that App Store Connect gives to a file has 29 characters.
    private static let longestName = 40

    package var isUsage: Bool {
        switch self {
        case .noID, .contentAsPath, .badID: true
        case .unreadable, .notAKey: false
        }
    }
}
