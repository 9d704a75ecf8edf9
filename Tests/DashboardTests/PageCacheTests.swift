import Foundation
import Synchronization
import Testing

@testable import Dashboard

@Suite("Pages that several readers ask for")
struct PageCacheTests {
    private let shared: PageCache
    private let made = Counter()
    private let clock = StillClock()

    init() {
        shared = PageCache { [clock] in clock.now }
    }

    private func key(_ query: String = "", scope: String...) -> PageCache.Key {
        PageCache.Key(path: "/", query: query, scope: scope)
    }

    private func page(_ key: PageCache.Key, status: Int = 200) async -> String? {
        let page = await shared.page(key) { finish in
            let number = made.next()
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.3) {
                finish(PageCache.Page(status: status, body: Array("\(number)".utf8)))
            }
        }
        return page.map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test("readers who ask at the same time are answered by one making, and soon after by the same")
    func atOnce() async {
        await withTaskGroup(of: String?.self) { group in
            for _ in 0..<50 { group.addTask { await page(key()) } }
            for await text in group { #expect(text == "1") }
        }
        #expect(await page(key()) == "1")
        #expect(made.count == 1)
    }

    @Test("other questions, and readers of another scope, have pages of their own")
    func apart() async {
        #expect(await page(key()) == "1")
        #expect(await page(key("period=week")) == "2")
        #expect(await page(key(scope: "campaign=1")) == "3")
        #expect(await page(key(scope: "campaign=2")) == "4")
        #expect(await page(key(scope: "campaign=1")) == "3")
    }

    @Test("a page that failed is made anew for the next reader")
    func failures() async {
        #expect(await page(key(), status: 404) == "1")
        #expect(await page(key()) == "2")
    }

    @Test("a page is made anew after a while")
    func old() async {
        #expect(await page(key()) == "1")
        clock.pass(.seconds(1))
        #expect(await page(key()) == "2")
    }

    @Test("readers of what cannot be made are told so, and do not wait")
    func ending() async {
        let page = await shared.page(key()) { $0(nil) }
        #expect(page == nil)
    }
}

private final class Counter: Sendable {
    private let made = Mutex(0)

    var count: Int { made.withLock { $0 } }

    func next() -> Int {
        made.withLock { count in
            count += 1
            return count
        }
    }
}

/// A clock that stands still until it is told.
private final class StillClock: Sendable {
    private let instant = Mutex(ContinuousClock.now)

    var now: ContinuousClock.Instant { instant.withLock { $0 } }

    func pass(_ duration: Duration) { instant.withLock { $0 += duration } }
}
