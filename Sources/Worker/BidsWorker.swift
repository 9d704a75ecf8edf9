import AggregateStore
import ArgumentParser
import Attestation
import Monitoring
import Pipelines
import Streams

/// `weir-bids`: folds the topic `bids`.
package struct BidsWorker: WindowedWorker {
    /// The fold of bids.
    package typealias Fold = BidsFold

    /// Name of the program.
    package static let programName = "weir-bids"

    /// Help.
    package static let configuration = CommandConfiguration(
        commandName: programName,
        abstract: "Folds auctions, notices and in-app offers into bids.sqlite.",
        discussion: """
            Reads the topic that bids.yaml names from the event log and keeps, an hour and a campaign \
            at a time, what was bid, won, lost and billed. Stop it at any time: it goes on where it was.

              weir publish --topic bids auctions.ndjson
              weir-bids --until-end
              weir dump bids --by day,seat
            """,
        version: WeirVersion.current)

    /// What every worker can be told.
    @OptionGroup package var options: WorkerOptions

    /// Options that were not given.
    package init() {}

    /// Reads `bids.yaml`.
    package static func pipeline(of pipelines: PipelineDirectory) throws -> BidsPipeline {
        try pipelines.bids()
    }

    /// Reads the keys in the catalog. Throws at the line of a key that is none.
    package static func adSigningKeys(of pipelines: PipelineDirectory) throws -> [String: [String]]
    {
        let catalog = try pipelines.catalog()
        return try AdSigningKeys.keys(of: catalog).reduce(into: [:]) { keys, network in
            keys[network.key] = catalog.networks[network.key]?.adSigningKeys.map(\.text)
        }
    }

    /// Has the ads of the networks verified that have keys.
    package static func complete(
        _ fold: BidsFold, _ rules: WindowedRules, threadCount: Int
    ) throws {
        guard !rules.adSigningKeys.isEmpty else { return }
        let keys = rules.adSigningKeys.mapValues { texts in
            texts.compactMap { VerificationKey(base64: $0) }
        }
        fold.verifyAds(
            of: keys, parsers: try (0..<max(1, threadCount)).map { _ in try makeParser() })
    }
}
