import Pipelines
import Synchronization

/// Who may send what, as it is in force: replaced as a whole while the collector works.
final class CollectorAccess: Sendable {
    /// What a request is judged by.
    struct Rules: Sendable {
        let keys: TokenKeys
        let producers: Producers
        /// Whether notices need a token or a producer's key.
        let requiresNoticeTokens: Bool
    }

    private let inForce: Mutex<Rules>

    private let lifetimes: TokenLifetimes

    init(_ access: CollectorPipeline.Access, tokenLifetimes: TokenLifetimes) {
        lifetimes = tokenLifetimes
        inForce = Mutex(Rules(access, tokenLifetimes))
    }

    var rules: Rules { inForce.withLock { $0 } }

    /// Judges requests by this from now on.
    func use(_ access: CollectorPipeline.Access) {
        let rules = Rules(access, lifetimes)
        inForce.withLock { $0 = rules }
    }
}

extension CollectorAccess.Rules {
    fileprivate init(_ access: CollectorPipeline.Access, _ lifetimes: TokenLifetimes) {
        keys = TokenKeys(access.tokenKeys, lifetimes: lifetimes)
        producers = Producers(access.keys, requiresKeys: access.requiresKeys)
        requiresNoticeTokens = access.requiresNoticeTokens
    }
}
