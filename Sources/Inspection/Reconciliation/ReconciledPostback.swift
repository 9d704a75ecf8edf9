import AggregateStore
import Streams

/// The copies of one postback that the network got and that the developer got, set against each other.
struct ReconciledPostback {
    /// What came of it.
    enum Status: String, CaseIterable {
        /// Both sides got it, with the same values.
        case matched
        /// Both sides got it, with other values.
        case differing
        /// Only the network got it.
        case missingDeveloperCopy = "missing_developer_copy"
        /// Only the developer got it.
        case missingNetworkCopy = "missing_network_copy"
        /// The network got it, and did not win: devices send no copy of it to developers.
        case losing
    }

    let status: Status
    /// The network's best copy, else the developer's.
    let reported: StoredPostbackCopy
    /// When the first of the copies came.
    let firstMilliseconds: Int64
    let network: [StoredPostbackCopy]
    let developer: [StoredPostbackCopy]

    /// Takes the trusted copies of one postback; nil when there is none.
    init?(_ copies: [StoredPostbackCopy]) {
        let sides = copies.reduce(
            into: (network: [StoredPostbackCopy](), developer: [StoredPostbackCopy]())
        ) {
            if $1.isDeveloperCopy { $0.developer.append($1) } else { $0.network.append($1) }
        }
        network = sides.network
        developer = sides.developer
        let best = (Self.best(of: network), Self.best(of: developer))
        guard let reported = best.0 ?? best.1 else { return nil }
        self.reported = reported
        firstMilliseconds = copies.map(\.timestampMilliseconds).min() ?? 0
        status =
            switch best {
            case (let network?, let developer?):
                network.hasValues(of: developer) ? .matched : .differing
            case (let network?, nil): network.didWin ? .missingDeveloperCopy : .losing
            case (nil, _): .missingNetworkCopy
            }
    }

    /// The copy of the best verdict; of several the first.
    private static func best(of copies: [StoredPostbackCopy]) -> StoredPostbackCopy? {
        copies.min { left, right in
            left.rank == right.rank ? left.offset < right.offset : left.rank > right.rank
        }
    }
}
