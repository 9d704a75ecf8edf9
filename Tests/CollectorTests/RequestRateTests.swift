import Testing

@testable import Collector

@Suite("A rate of requests")
struct RequestRateTests {
    @Test("lets a second's worth through at once, then as many a second as it says")
    func rate() {
        let start = ContinuousClock.now
        let rate = RequestRate(perSecond: 10, now: start)
        #expect((0..<10).allSatisfy { _ in rate.take(now: start) == nil })
        #expect(rate.take(now: start) == 1)
        #expect(rate.take(now: start + .milliseconds(101)) == nil)
        #expect(rate.take(now: start + .milliseconds(101)) == 1)
        let later = start + .seconds(60)
        #expect((0..<10).allSatisfy { _ in rate.take(now: later) == nil })
        #expect(rate.take(now: later) == 1)
    }
}
