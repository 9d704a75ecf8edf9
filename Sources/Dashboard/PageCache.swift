import Synchronization

/// Caches pages that several readers request at about the same time: each is built once and served for a short time. A
/// page names its newest records, so a cached page is as correct as a new one.
///
/// The cost does not depend on the number of readers. A page is kept for four times as long as it took to build, so
/// each page uses at most a fifth of a core.
final class PageCache: Sendable {
    struct Key: Hashable {
        let path: String
        /// The unparsed query.
        let query: String
        /// The scope of the reader's token.
        let scope: [String]
        /// What else the page depends on.
        var state: [String] = []
    }

    typealias Page = PageBuilder.Made

    private enum Entry {
        /// The waiting readers.
        case underWay([CheckedContinuation<Page?, Never>])
        case made(Page, until: ContinuousClock.Instant)
    }

    private static let leastKept: Duration = .seconds(1)
    private static let longestKept: Duration = .seconds(20)
    private static let mostBytes = 64 << 20

    private let entries = Mutex<[Key: Entry]>([:])
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameter now: returns the current time.
    init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.now = now
    }

    /// The page; nil when it cannot be built because the server is stopping.
    ///
    /// - Parameter begin: starts building and calls back once, on any thread.
    func page(
        _ key: Key, _ begin: (_ finish: @escaping @Sendable (Page?) -> Void) -> Void
    ) async -> Page? {
        await withCheckedContinuation { reader in
            let (cached, isFirst) = entries.withLock { entries -> (Page?, Bool) in
                switch entries[key] {
                case .made(let page, let until) where now() < until:
                    return (page, false)
                case .underWay(let readers):
                    entries[key] = .underWay(readers + [reader])
                    return (nil, false)
                case .made, nil:
                    entries[key] = .underWay([reader])
                    return (nil, true)
                }
            }
            if let cached { return reader.resume(returning: cached) }
            guard isFirst else { return }
            let start = now()
            begin { self.finish(key, $0, since: start) }
        }
    }

    private func finish(_ key: Key, _ page: Page?, since start: ContinuousClock.Instant) {
        let now = now()
        let readers = entries.withLock { entries -> [CheckedContinuation<Page?, Never>] in
            guard case .underWay(let readers) = entries[key] else { return [] }
            entries[key] = nil
            let size = Self.forgetOld(&entries, now)
            if let page, page.status == 200, size + page.body.count <= Self.mostBytes {
                let kept = max(Self.leastKept, min(Self.longestKept, start.duration(to: now) * 4))
                entries[key] = .made(page, until: now + kept)
            }
            return readers
        }
        for reader in readers { reader.resume(returning: page) }
    }

    /// Returns the number of remaining bytes.
    private static func forgetOld(
        _ entries: inout [Key: Entry], _ now: ContinuousClock.Instant
    ) -> Int {
        var size = 0
        for (key, entry) in entries {
            guard case .made(let page, let until) = entry else { continue }
            if until <= now { entries[key] = nil } else { size += page.body.count }
        }
        return size
    }
}
