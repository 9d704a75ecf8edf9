import Synchronization

/// Pages that several readers ask for at about the same time: each is made once, and for a short while handed out again.
/// A page says as of which records it speaks, so that one that was just made is as true as the next.
///
/// So readers cost the same however many they are: of one page at most a fifth of a core, since it is kept for four times
/// as long as it took to make.
final class PageCache: Sendable {
    struct Key: Hashable {
        let path: String
        /// As it was asked.
        let query: String
        /// What the reader's token fixes.
        let scope: [String]
    }

    typealias Page = PageBuilder.Made

    private enum Entry {
        /// Those who wait for it.
        case underWay([CheckedContinuation<Page?, Never>])
        case made(Page, until: ContinuousClock.Instant)
    }

    private static let leastKept: Duration = .seconds(1)
    private static let longestKept: Duration = .seconds(20)
    private static let mostBytes = 64 << 20

    private let entries = Mutex<[Key: Entry]>([:])
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameter now: what time it is.
    init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.now = now
    }

    /// The page; nil when it cannot be made, since everything ends.
    ///
    /// - Parameter begin: begins to make it, and calls back once, on any thread.
    func page(
        _ key: Key, _ begin: (_ finish: @escaping @Sendable (Page?) -> Void) -> Void
    ) async -> Page? {
        await withCheckedContinuation { reader in
            let (known, isFirst) = entries.withLock { entries -> (Page?, Bool) in
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
            if let known { return reader.resume(returning: known) }
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

    /// Returns how many bytes are left.
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
