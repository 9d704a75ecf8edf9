import Pipelines

/// How long tokens may hold: no longer than the worker of their topic remembers what it has counted, so that
/// one token is one event however often it comes.
package struct TokenLifetimes: Equatable, Sendable {
    private var windowSeconds: [TokenUse: Int64]

    /// What follows from the windows of the workers as they are without files.
    package init() {
        windowSeconds = [
            .impression: Int64(ImpressionsPipeline.defaultDedupeWindowSeconds),
            .click: Int64(OverlayClicksPipeline.defaultDedupeWindowSeconds),
            .notice: Int64(BidsPipeline.defaultDedupeWindowSeconds),
        ]
    }

    /// What follows from the workers' files where they are, and from their defaults where they are not.
    package init(_ pipelines: PipelineDirectory) throws(ConfigurationError) {
        self.init()
        if pipelines.has(.impressions) {
            windowSeconds[.impression] = Int64(try pipelines.impressions().dedupeWindowSeconds)
        }
        if pipelines.has(.overlayClicks) {
            windowSeconds[.click] = Int64(try pipelines.overlayClicks().dedupeWindowSeconds)
        }
        if pipelines.has(.bids) {
            windowSeconds[.notice] = Int64(try pipelines.bids().dedupeWindowSeconds)
        }
    }

    /// Seconds that a token may be made for: the window less an hour, or less a sixtieth of a short one,
    /// since what is accepted at its end waits for the log. 0 where nothing is remembered.
    package func longestSeconds(_ use: TokenUse) -> Int64 {
        windowSeconds(use) - marginSeconds(use)
    }

    /// Seconds before its end from which on a token is accepted: half of what is kept back is for clocks
    /// that differ.
    func acceptedSeconds(_ use: TokenUse) -> Int64 {
        windowSeconds(use) - marginSeconds(use) / 2
    }

    private func windowSeconds(_ use: TokenUse) -> Int64 { windowSeconds[use] ?? 0 }

    private func marginSeconds(_ use: TokenUse) -> Int64 { min(3600, windowSeconds(use) / 60) }
}
