import Crypto
import Foundation
import Synchronization

/// The history of notifications of Apple's App Store Server API on the loopback address, as Apple documents it.
/// https://developer.apple.com/documentation/appstoreserverapi/get-notification-history
package final class AppStoreStandIn: Sendable {
    package struct Notification: Sendable {
        package var uuid: String
        package var signedAtMilliseconds: Int64
        /// The JWS.
        package var payload: String
        /// Whether it has not reached the server.
        package var hasFailed = false

        package init(
            uuid: String, signedAtMilliseconds: Int64, payload: String, hasFailed: Bool = false
        ) {
            self.uuid = uuid
            self.signedAtMilliseconds = signedAtMilliseconds
            self.payload = payload
            self.hasFailed = hasFailed
        }
    }

    /// Disturbances of requests, by the number of the request from 1.
    package struct Disturbances: Sendable {
        /// Every so many requests one is limited for this time.
        package var limitedEvery: Int?
        package var limitMilliseconds: Int64 = 30
        /// Every so many requests one fails.
        package var failsEvery: Int?
        /// This token expires.
        package var expires: Int?
        /// This request and later ones get no answer.
        package var silentFrom: Int?
        /// From this request on connections close.
        package var closedFrom: Int?

        package init(_ change: (inout Disturbances) -> Void = { _ in }) { change(&self) }
    }

    package static let keyID = "2X9R4HXF34"
    package static let issuerID = "57246542-96fe-1a63-e053-0824d011072a"
    private static let pageCount = 20
    private static let dayMilliseconds: Int64 = 86_400_000

    private struct State {
        var requests = 0
        var tokens = 0
        /// The body that a token belongs to, and where its page begins.
        var pages: [String: (body: String, start: Int)] = [:]
        var refusals: [String] = []
    }

    /// The text of a .p8 file.
    package let key: String
    private let listed: [Notification]
    private let bundleID: String
    private let days: Int64
    private let publicKey: P256.Signing.PublicKey
    private let disturbances: Disturbances
    private let state = Mutex(State())
    private let partner = Mutex<ScriptedPartner?>(nil)

    /// - Parameter days: how long notifications are kept: 30 in the sandbox.
    package init(
        _ listed: [Notification], bundleID: String = SampleNotifications.bundle, days: Int64 = 180,
        _ disturbances: Disturbances = Disturbances()
    ) throws {
        let key = P256.Signing.PrivateKey()
        self.key = key.pemRepresentation
        publicKey = key.publicKey
        self.listed = listed.sorted { $0.signedAtMilliseconds < $1.signedAtMilliseconds }
        self.bundleID = bundleID
        self.days = days
        self.disturbances = disturbances
        let partner = try ScriptedPartner { [weak self] request, _ in
            self?.reaction(to: request) ?? .hangUp
        }
        self.partner.withLock { $0 = partner }
    }

    package var url: String { partner.withLock { $0?.url ?? "" } }
    package var requestCount: Int { state.withLock(\.requests) }
    /// The refusals, by Apple's messages.
    package var refusals: [String] { state.withLock(\.refusals) }

    private func reaction(to request: ScriptedPartner.Request) -> ScriptedPartner.Reaction {
        let number = state.withLock { state in
            state.requests += 1
            return state.requests
        }
        if let first = disturbances.silentFrom, number >= first { return .silence }
        if let first = disturbances.closedFrom, number >= first { return .hangUp }
        if let every = disturbances.limitedEvery, number % every == 0 {
            let until =
                Int64(Date.now.timeIntervalSince1970 * 1000) + disturbances.limitMilliseconds
            return refusal(
                429, 4_290_000, "Rate limit exceeded.", ["Retry-After: \(until)"])
        }
        if let every = disturbances.failsEvery, number % every == 0 {
            return refusal(500, 5_000_001, "An unknown error occurred. Please try again.")
        }
        guard isAuthorized(request) else {
            refuse("Unauthorized")
            return .answer(401, ["Content-Type: text/plain"], body: "Unauthenticated\n")
        }
        return page(request)
    }

    private func refuse(_ name: String) { state.withLock { $0.refusals.append(name) } }

    private func refusal(
        _ status: Int, _ code: Int, _ message: String, _ headers: [String] = []
    ) -> ScriptedPartner.Reaction {
        refuse(message)
        return .answer(
            status, headers + ["Content-Type: application/json"],
            body: "{\"errorCode\":\(code),\"errorMessage\":\"\(message)\"}")
    }

    /// Whether the request has a token that the key of the app has signed.
    private func isAuthorized(_ request: ScriptedPartner.Request) -> Bool {
        let words = request.headers["authorization"]?.split(separator: " ") ?? []
        let parts = words.last?.split(separator: ".").map(String.init) ?? []
        guard words.first == "Bearer", parts.count == 3,
            let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            let raw = Self.bytes(parts[2]),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: raw),
            publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8))
        else { return false }
        let now = Date.now.timeIntervalSince1970
        guard let issued = claims["iat"] as? Double, let expiry = claims["exp"] as? Double else {
            return false
        }
        return header["alg"] as? String == "ES256" && header["kid"] as? String == Self.keyID
            && header["typ"] as? String == "JWT" && claims["iss"] as? String == Self.issuerID
            && claims["aud"] as? String == "appstoreconnect-v1"
            && claims["bid"] as? String == bundleID && issued <= now + 60 && expiry > now
            && expiry - issued <= 3600
    }

    private func page(_ request: ScriptedPartner.Request) -> ScriptedPartner.Reaction {
        let target = URLComponents(string: request.target)
        guard request.line.hasPrefix("POST "), target?.path == "/inApps/v1/notifications/history",
            request.headers["content-type"] == "application/json",
            let body = try? jsonObject(request.body)
        else { return refusal(400, 4_000_000, "Bad request.") }
        guard let start = body["startDate"] as? Int64 else {
            return refusal(400, 4_000_015, "Invalid request. The start date is not a timestamp.")
        }
        guard let end = body["endDate"] as? Int64 else {
            return refusal(400, 4_000_016, "Invalid request. The end date is not a timestamp.")
        }
        guard start < end else {
            return refusal(400, 4_000_013, "Invalid request. The end date precedes the start date.")
        }
        let now = Int64(Date.now.timeIntervalSince1970 * 1000)
        guard start >= now - days * Self.dayMilliseconds else {
            return refusal(
                400, 4_000_012, "Invalid request. The start date is too far in the past.")
        }
        var first = 0
        if let token = target?.queryItems?.first(where: { $0.name == "paginationToken" })?.value {
            guard let page = state.withLock({ $0.pages[token] }), page.body == request.body else {
                return refusal(400, 4_000_014, "Invalid request. Invalid pagination token.")
            }
            guard !hasExpired(token) else {
                return refusal(400, 4_000_017, "Invalid request. The pagination token is expired.")
            }
            first = page.start
        }
        let onlyFailures = body["onlyFailures"] as? Bool == true
        let found = listed.filter {
            (start...end).contains($0.signedAtMilliseconds) && (!onlyFailures || $0.hasFailed)
        }
        return .answer(
            200, ["Content-Type: application/json"],
            body: text(of: found, from: first, requested: request.body))
    }

    private func hasExpired(_ token: String) -> Bool {
        disturbances.expires.map { token.hasPrefix("\($0)+") } ?? false
    }

    private func text(of found: [Notification], from first: Int, requested: String) -> String {
        let items = found.dropFirst(first).prefix(Self.pageCount).map { notification in
            let result = notification.hasFailed ? "TIMED_OUT" : "SUCCESS"
            return """
                {"signedPayload":"\(notification.payload)","sendAttempts":[{"attemptDate":\
                \(notification.signedAtMilliseconds + 900),"sendAttemptResult":"\(result)"}]}
                """
        }
        let next = first + items.count
        guard next < found.count else {
            return "{\"notificationHistory\":[\(items.joined(separator: ","))],\"hasMore\":false}"
        }
        let token = state.withLock { state in
            state.tokens += 1
            // With characters that an address must not contain as they are.
            let token = "\(state.tokens)+a/b=&c"
            state.pages[token] = (requested, next)
            return token
        }
        return """
            {"notificationHistory":[\(items.joined(separator: ","))],"hasMore":true,\
            "paginationToken":"\(token)"}
            """
    }

    private static func object(_ part: String) -> [String: Any]? {
        bytes(part).flatMap { try? jsonObject(String(decoding: $0, as: UTF8.self)) }
    }

    private static func bytes(_ part: String) -> Data? {
        let text = part.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: text + String(repeating: "=", count: (4 - text.count % 4) % 4))
    }
}
