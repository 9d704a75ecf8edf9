import CCurl

/// The connections of libcurl, used and idle. `wake` may be called on any thread, all others on the sender's thread only,
/// which makes it `@unchecked Sendable`.
final class Connections: @unchecked Sendable {
    private static let idleCount = 256
    private static let longestWaitMilliseconds: Int64 = 60_000

    private let multi: UnsafeMutableRawPointer

    init() {
        guard let multi = curl_multi_init() else { preconditionFailure("libcurl has no memory") }
        self.multi = multi
        _ = weir_curl_multi_set_number(multi, CURLMOPT_MAXCONNECTS, Self.idleCount)
    }

    /// Closes all connections. No transfer uses them any more.
    deinit { curl_multi_cleanup(multi) }

    func add(_ transfer: Transfer) throws(CurlFault) {
        guard curl_multi_add_handle(multi, transfer.handle) == CURLM_OK else {
            throw CurlFault(code: CURLE_FAILED_INIT)
        }
    }

    /// Closes the connection of a transfer that has not ended.
    func remove(_ transfer: Transfer) { curl_multi_remove_handle(multi, transfer.handle) }

    /// Sends and receives without waiting. Calls back for each transfer that has ended, which may be removed then.
    func advance(ended: (UnsafeMutableRawPointer, CURLcode) -> Void) {
        var count: Int32 = 0
        curl_multi_perform(multi, &count)
        while let message = curl_multi_info_read(multi, &count)?.pointee {
            guard message.msg == CURLMSG_DONE, let handle = message.easy_handle else { continue }
            ended(handle, message.data.result)
        }
    }

    /// Waits until a connection has something to do, `wake` is called, or the time has come.
    func wait(until end: ContinuousClock.Instant?) {
        let milliseconds = end.map { (end: ContinuousClock.Instant) in
            // Rounded up, so that the time has come after it.
            Int64((ContinuousClock.now.duration(to: end) / .milliseconds(1)).rounded(.up))
        }
        let wait = max(0, min(milliseconds ?? .max, Self.longestWaitMilliseconds))
        curl_multi_poll(multi, nil, 0, Int32(wait), nil)
    }

    func wake() { curl_multi_wakeup(multi) }
}
