import Testing

@testable import Monitoring

@Suite("Addresses and health")
struct HealthTests {
    @Test(
        "HOST:PORT is read and written alike",
        arguments: [
            "127.0.0.1:0", "localhost:9464", "[::1]:65535", "[fe80::1%eth0]:80", "a-b.c_d:1",
        ])
    func addresses(_ text: String) throws {
        #expect(try #require(ListenAddress(text)).description == text)
    }

    @Test(
        "What is no HOST:PORT is refused",
        arguments: [
            "", ":", ":9464", "localhost", "localhost:", "localhost:x", "localhost:+1",
            "localhost:65536", "localhost:-1", "::1:9464", "[]:1", "[::1]", "[host]:1",
            "http://localhost:1", "local host:1", "lo/cal:1", "a:1 ",
        ])
    func badAddresses(_ text: String) {
        #expect(ListenAddress(text) == nil)
    }

    @Test("A worker lives while its loop has turned within a minute beyond its wait for records")
    func liveness() {
        let start = ContinuousClock.now
        let health = Health(waitMilliseconds: 500, now: start)
        #expect(health.stall(now: start + .milliseconds(60_500)) == nil)
        #expect(
            health.stall(now: start + .seconds(61))
                == "the worker's loop has not turned for 61 s")
        health.turn(now: start + .seconds(61))
        #expect(health.stall(now: start + .seconds(121)) == nil)
    }

    @Test("A worker is not ready until it says so, and no more once it says why")
    func readiness() {
        let health = Health(waitMilliseconds: 0)
        #expect(health.unreadiness == "no partition is assigned yet")
        health.setReady(unless: nil)
        #expect(health.unreadiness == nil)
        health.setReady(unless: "the log cannot be read")
        #expect(health.unreadiness == "the log cannot be read")
    }
}
