import Crypto
import Foundation
import JSON
import Monitoring
import Reports
import Store
import Streams
import Synchronization
import Tokens

/// Decides who may read: on a loopback address every local user, elsewhere a reader who has signed in with a read
/// token.
package final class DashboardAccess: Sendable {
    /// The permission of a request.
    enum Decision {
        /// Only rows with these values; empty for all rows.
        case reads([ReportRequest.Condition])
        case signIn
        /// The client's address has sent too many invalid tokens recently.
        case throttled(seconds: Int64)
        /// The request's host is not a host of this server: a foreign page may have sent it.
        case otherHost
    }

    private struct Session {
        /// The token that started the session.
        let token: ReadToken
        let expiresAtSeconds: Int64
        /// Increases with each new session.
        let number: Int
    }

    private struct State {
        /// By the SHA-256 of the cookie's value.
        var sessions: [String: Session] = [:]
        var begun = 0
        /// The times of recently rejected tokens, by client address.
        var failures: [String: [Int64]] = [:]

        mutating func endOldest(of some: [String: Session]) {
            guard let oldest = some.min(by: { $0.value.number < $1.value.number }) else { return }
            sessions.removeValue(forKey: oldest.key)
        }
    }

    /// Nil when no reader can sign in.
    private let keys: TokenKeys?
    /// Whether reading does not need a token.
    let isOpen: Bool
    private let state = Mutex(State())

    static let cookie = "weir_session"
    /// The cookie with the value that the sign-in form must send back.
    static let formCookie = "weir_form"
    private static let sessionSeconds: Int64 = 12 * 3600
    /// The maximum number of sessions per token; another one ends the oldest.
    static let mostSessionsOfToken = 20
    /// The maximum number of sessions of all tokens together; another one ends the oldest.
    private static let mostSessions = 10_000
    private static let mostFailures = 10
    private static let failureSeconds: Int64 = 60
    private static let mostAddresses = 10_000

    /// - Parameter isOpen: whether everyone who reaches the address may read. Acting needs a token anyway.
    package init(keys: TokenKeys?, isOpen: Bool) {
        self.keys = keys
        self.isOpen = isOpen
    }

    var canSignIn: Bool { keys?.isEmpty == false }

    /// Whether an address is reachable only from the local machine.
    package static func isLoopback(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let isAddress = parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
        return host == "localhost" || host == "::1" || isAddress && parts[0] == "127"
    }

    /// - Parameter address: of the client, to count rejected tokens.
    func decision(
        host: String, cookies: [String: String], bearer: String?, address: String,
        nowSeconds: Int64
    ) -> Decision {
        guard !isOpen, let keys else {
            let name = ListenAddress(host)?.host ?? host.trimmingCharacters(in: ["[", "]"])
            return Self.isLoopback(name) ? .reads([]) : .otherHost
        }
        if let bearer {
            if let seconds = secondsToWait(address, nowSeconds) {
                return .throttled(seconds: seconds)
            }
            guard let token = try? keys.readToken(bearer, atMilliseconds: nowSeconds * 1000) else {
                countFailure(address, nowSeconds)
                return .signIn
            }
            return .reads(Self.conditions(token))
        }
        guard let session = session(cookies, nowSeconds) else { return .signIn }
        return .reads(Self.conditions(session.token))
    }

    private func session(_ cookies: [String: String], _ nowSeconds: Int64) -> Session? {
        guard let id = cookies[Self.cookie] else { return nil }
        let session = state.withLock { $0.sessions[Self.digest(id)] }
        return session.flatMap { nowSeconds < $0.expiresAtSeconds ? $0 : nil }
    }

    /// What a request may do beyond reading.
    enum Permission {
        /// Nobody is signed in.
        case none
        /// The token only reads.
        case reads
        case operates(ReadToken.Actor)
    }

    /// The permission of a session. A bearer token permits nothing: actions are forms of a browser.
    func permission(cookies: [String: String], nowSeconds: Int64) -> Permission {
        guard let session = session(cookies, nowSeconds) else { return .none }
        return session.token.actor.map(Permission.operates) ?? .reads
    }

    /// Signs in. Returns the value of the session's cookie; nil for an invalid token, or if the address has sent too
    /// many of these recently.
    func signIn(_ text: String, address: String, nowSeconds: Int64) -> String? {
        guard let keys, secondsToWait(address, nowSeconds) == nil else { return nil }
        guard let token = try? keys.readToken(text, atMilliseconds: nowSeconds * 1000) else {
            countFailure(address, nowSeconds)
            return nil
        }
        let id = SecretText.random()
        state.withLock { state in
            if state.sessions.count >= Self.mostSessions {
                state.sessions = state.sessions.filter { $0.value.expiresAtSeconds > nowSeconds }
            }
            let own = state.sessions.filter { $0.value.token == token }
            if own.count >= Self.mostSessionsOfToken {
                state.endOldest(of: own)
            } else if state.sessions.count >= Self.mostSessions {
                state.endOldest(of: state.sessions)
            }
            state.begun += 1
            state.sessions[Self.digest(id)] = Session(
                token: token,
                expiresAtSeconds: min(token.expiresAtSeconds, nowSeconds + Self.sessionSeconds),
                number: state.begun)
        }
        return id
    }

    func signOut(_ id: String) {
        _ = state.withLock { $0.sessions.removeValue(forKey: Self.digest(id)) }
    }

    /// The remaining waiting time of an address after too many rejected tokens; nil without one.
    func secondsToWait(_ address: String, _ nowSeconds: Int64) -> Int64? {
        state.withLock { state in
            let recent = (state.failures[address] ?? []).filter {
                $0 > nowSeconds - Self.failureSeconds
            }
            guard let first = recent.suffix(Self.mostFailures).first,
                recent.count >= Self.mostFailures
            else { return nil }
            return first + Self.failureSeconds - nowSeconds
        }
    }

    private func countFailure(_ address: String, _ nowSeconds: Int64) {
        state.withLock { state in
            if state.failures.count >= Self.mostAddresses { state.failures = [:] }
            let recent = (state.failures[address] ?? []).filter {
                $0 > nowSeconds - Self.failureSeconds
            }
            state.failures[address] = recent + [nowSeconds]
        }
    }

    /// The value that a form must send back, so that other pages cannot submit it.
    static func formToken(_ id: String) -> String { digest("form \(id)") }

    /// Whether a form comes from a page of this session. Compares in constant time.
    static func isFormToken(_ text: String?, of id: String?) -> Bool {
        guard let text, let id else { return false }
        let (given, valid) = (Array(text.utf8), Array(formToken(id).utf8))
        guard given.count == valid.count else { return false }
        return zip(given, valid).reduce(UInt8(0)) { $0 | $1.0 ^ $1.1 } == 0
    }

    private static func digest(_ text: String) -> String {
        Array(text.utf8).withUnsafeBytes { HexDigest.sha256($0) }
    }

    private static func conditions(_ token: ReadToken) -> [ReportRequest.Condition] {
        token.conditions.map { ReportRequest.Condition(column: $0.column, value: $0.value) }
    }
}
