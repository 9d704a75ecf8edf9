import Foundation
import Synchronization

/// Clients that pipeline requests to a missing path over this many connections until they are stopped. Answers are read
/// and dropped.
final class HTTPFlood: Sendable {
    private static let request = "GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    /// Requests per write.
    private static let requestsAtOnce = 1000

    private let isOver = Atomic<Bool>(false)
    private let threads = DispatchGroup()

    init(port: Int, connections: Int) {
        let requests = Array(
            String(repeating: Self.request, count: Self.requestsAtOnce).utf8)
        for _ in 0..<connections {
            threads.enter()
            Thread.detachNewThread { [self] in
                flood(port, requests)
                threads.leave()
            }
        }
    }

    func stop() {
        isOver.store(true, ordering: .relaxed)
        threads.wait()
    }

    private func flood(_ port: Int, _ requests: [UInt8]) {
        guard let descriptor = HTTPLoad.connection(port: port) else { return }
        defer { close(descriptor) }
        var sent = 0
        var answers = [UInt8](repeating: 0, count: 1 << 16)
        while !isOver.load(ordering: .relaxed) {
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN | POLLOUT), revents: 0)
            guard poll(&ready, 1, 100) >= 0 else { return }
            if ready.revents & Int16(POLLIN) != 0 {
                guard recv(descriptor, &answers, answers.count, 0) > 0 else { return }
            }
            guard ready.revents & Int16(POLLOUT) != 0 else { continue }
            let count = requests[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count > 0 { sent = (sent + count) % requests.count }
        }
    }
}
