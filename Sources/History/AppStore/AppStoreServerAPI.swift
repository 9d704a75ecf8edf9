import ConfigurationValues
import EventLog
import Foundation
import HTTPClient
import JSON
import Streams
import Wording

/// A client of Apple's App Store Server API for the history of notifications. Used from one thread.
/// https://developer.apple.com/documentation/appstoreserverapi/get-notification-history
package final class AppStoreServerAPI {
    /// Up to 20 notifications.
    struct Page {
        /// The JWSs, as they were signed.
        var payloads: [[UInt8]]
        /// For the next page; nil on the last one.
        var token: String?
    }

    /// How requests are repeated.
    package struct Patience: Sendable {
        /// Pauses after failed requests in milliseconds. The request fails for good after the last one.
        package var pausesMilliseconds: [Int64] = [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000]
        /// The longest pause that Apple can request. Limits are per hour.
        package var longestPauseMilliseconds: Int64 = 3_900_000

        package init() {}
    }

    private static let path = "/inApps/v1/notifications/history"
    /// A notification has a few KB, and at most 1 MiB in Weir.
    private static let pageBytes = 32 << 20
    private static let timeoutMilliseconds: Int64 = 60_000

    /// The days for which Apple keeps notifications.
    package static func days(of environment: AppStoreEnvironment) -> Int64 {
        environment == .sandbox ? 30 : 180
    }

    /// Apple's base address since 2026-05-05; nil for environments without a server.
    package static func address(of environment: AppStoreEnvironment) -> String? {
        switch environment {
        case .production: "https://api.storekit.apple.com"
        case .sandbox: "https://api.storekit-sandbox.apple.com"
        case .xcode, .localTesting: nil
        }
    }

    private let address: String
    private let destination: Destination
    private let key: AppStoreKey
    private let bundleID: String
    private let patience: Patience
    private let sender: HTTPSender
    private let parser: JSONParser
    /// Called before each pause, with its reason and its length in milliseconds.
    private let pausing: (_ reason: String, _ milliseconds: Int64) -> Void

    /// - Parameters:
    ///   - address: the base address: https, or http to an address of this machine.
    ///   - authorities: a PEM file with the accepted authorities of https; nil for those of the system.
    package init(
        address: String, key: AppStoreKey, bundleID: String, patience: Patience = Patience(),
        authorities: String? = nil,
        pausing: @escaping (_ reason: String, _ milliseconds: Int64) -> Void = { _, _ in }
    ) throws {
        guard let host = Self.host(of: address) else { throw AppStoreAPIFault.badAddress(address) }
        self.address = address.hasSuffix("/") ? String(address.dropLast()) : address
        // The certificate identifies Apple, also if a gateway has a private address.
        destination = Destination(
            host: host, allowsPrivate: true, timeoutMilliseconds: Self.timeoutMilliseconds)
        self.key = key
        self.bundleID = bundleID
        self.patience = patience
        self.pausing = pausing
        parser = try .make()
        sender = HTTPSender(receiverCount: 1, authorities: authorities)
    }

    deinit { sender.stop() }

    /// The host of a base address that requests may go to; nil for others.
    private static func host(of address: String) -> String? {
        guard let parts = URLComponents(string: address), let written = parts.host,
            !written.isEmpty, parts.user == nil, parts.query == nil, parts.fragment == nil
        else { return nil }
        let host = written.trimmingCharacters(in: ["[", "]"]).lowercased()
        switch parts.scheme?.lowercased() {
        case "https": return host
        case "http":
            let isLocal = host == "localhost" || host == "::1" || host.hasPrefix("127.")
            return isLocal && (host == "localhost" || IPAddress(host) != nil) ? host : nil
        default: return nil
        }
    }

    /// A page of the history of a period, in milliseconds since 1970. Repeats the request if Apple asks for a pause, or
    /// does not answer.
    ///
    /// - Parameters:
    ///   - onlyFailures: only notifications that have not reached the server that App Store Connect names.
    ///   - token: of the previous page; nil for the first one. A token belongs to the other parameters.
    func page(
        of period: Range<Int64>, onlyFailures: Bool, after token: String?
    ) throws -> Page {
        var failures = 0
        while true {
            let (reason, asked): (String, Int64?)
            switch sender.result(of: try request(period, onlyFailures, token), to: destination) {
            case .answered(200, _, let body): return try page(body, after: token)
            case .answered(let status, let pause, let body):
                let words = answer(status, body)
                guard status == 429 || status >= 500 else {
                    throw status == 400 && token != nil
                        ? AppStoreAPIFault.tokenRefused(words) : fault(status, words)
                }
                (reason, asked) = (words, pause)
            case .failed(.tls, let detail): throw AppStoreAPIFault.noAnswer("\(address): \(detail)")
            case .failed(let fault, let detail):
                (reason, asked) = ("\(address): \(fault.rawValue): \(detail)", nil)
            case .addressRefused(let detail): throw AppStoreAPIFault.noAnswer(detail)
            }
            guard failures < patience.pausesMilliseconds.count else {
                throw AppStoreAPIFault.noAnswer(reason)
            }
            let pause = max(asked ?? 0, patience.pausesMilliseconds[failures])
            guard pause <= patience.longestPauseMilliseconds else {
                throw AppStoreAPIFault.limited(
                    reason, until: UTC.text(milliseconds: WallClock.milliseconds + pause))
            }
            failures += 1
            pausing(reason, pause)
            Thread.sleep(forTimeInterval: Double(pause) / 1000)
        }
    }

    private func request(
        _ period: Range<Int64>, _ onlyFailures: Bool, _ token: String?
    ) throws -> OutgoingRequest {
        var body = JSONText()
        body.object { body in
            body.member("startDate", period.lowerBound)
            body.member("endDate", period.upperBound)
            if onlyFailures { body.member("onlyFailures", true) }
        }
        let query = token.map { token in
            token.utf8.map {
                $0.isASCIILetterOrDigit ? String(UnicodeScalar($0)) : "%\([$0].hexDigits)"
            }.joined()
        }
        let bearer = try key.token(bundleID: bundleID, atSeconds: WallClock.milliseconds / 1000)
        return OutgoingRequest(
            method: "POST",
            url: address + Self.path + (query.map { "?paginationToken=\($0)" } ?? ""),
            headers: [
                .init("Authorization", "Bearer \(bearer)", isSecret: true),
                .init("Content-Type", "application/json"), .init("Accept", "application/json"),
            ],
            body: body.bytes, answerBytes: Self.pageBytes)
    }

    private func page(_ body: [UInt8], after token: String?) throws -> Page {
        let page = body.withUnsafeBytes { bytes -> Page? in
            guard let value = try? parser.parse(bytes), value.isObject else { return nil }
            var payloads: [[UInt8]] = []
            if let history = value.member("notificationHistory") {
                guard history.isArray else { return nil }
                for item in history.elements {
                    guard let payload = item.member("signedPayload")?.string else { return nil }
                    payloads.append(Array(payload))
                }
            }
            let next = value.member("paginationToken")?.string
            // Without the member, only the token says whether there is another page.
            guard value.member("hasMore")?.boolean ?? (next?.isEmpty == false) else {
                return Page(payloads: payloads, token: nil)
            }
            guard let next, !next.isEmpty else { return nil }
            return Page(payloads: payloads, token: String(decoding: next, as: UTF8.self))
        }
        // The same page would follow endlessly.
        guard let page, page.token == nil || page.token != token else {
            throw AppStoreAPIFault.unreadable(address)
        }
        return page
    }

    /// A refusal in words: Apple's code and message, if there are any.
    private func answer(_ status: Int, _ body: [UInt8]) -> String {
        let words = body.withUnsafeBytes { bytes -> String? in
            guard let value = try? parser.parse(bytes),
                let message = value.member("errorMessage")?.string
            else { return nil }
            let code = value.member("errorCode")?.number?.asInteger
            let number = if case .exact(let code)? = code { "\(code) " } else { "" }
            let text = String(decoding: message.prefix(300), as: UTF8.self)
            // A server that quotes the request would quote the token, which begins with this.
            guard !text.contains("eyJ") else { return nil }
            return number + (text.hasSuffix(".") ? String(text.dropLast()) : text)
        }
        return "\(address) answered \(status)" + (words.map { ": \($0)" } ?? "")
    }

    private func fault(_ status: Int, _ words: String) -> AppStoreAPIFault {
        status == 401 ? .denied(words, keyID: key.id, bundleID: bundleID) : .refused(words)
    }
}

/// Why the history of notifications cannot be read.
enum AppStoreAPIFault: OperatorError, Equatable {
    case badAddress(String)
    case denied(String, keyID: String, bundleID: String)
    case refused(String)
    /// The token of a page is no longer valid: the first page can be requested again.
    case tokenRefused(String)
    case limited(String, until: String)
    case noAnswer(String)
    case unreadable(String)

    var description: String {
        switch self {
        case .badAddress(let address):
            "--base-url '\(address)' is not possible: write https://HOST, or http:// with an address of this machine"
        case .denied(let words, let keyID, let bundleID):
            "\(words): it does not accept the token. Check that the key \(keyID) is an active In-App Purchase key of the team of \(bundleID), that --key-id and --issuer-id belong to it, that the app has a version in the App Store (before that, use --environment Sandbox), and the clock of this machine"
        case .refused(let words):
            "\(words): compare --since, --until, --bundle-id and --environment with the app in App Store Connect, and --base-url if you gave it"
        case .tokenRefused(let words):
            "\(words): it refused the token of the next page twice, run again later"
        case .limited(let words, let until):
            "\(words): requests are limited until \(until), run again then"
        case .noAnswer(let words): "\(words): run again later"
        case .unreadable(let address):
            "\(address) answered with something else than a page of notifications: check --base-url"
        }
    }

    var isUsage: Bool { if case .badAddress = self { true } else { false } }
}
