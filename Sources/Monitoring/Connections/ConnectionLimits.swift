/// Bounds of the connections to a server, so that no client uses up shared resources.
package struct ConnectionLimits: Equatable, Sendable {
    /// Bytes of a request's line and headers.
    package var maxHeaderBytes = 32 << 10
    /// Timeout of a request's headers: of the first request from the connection on, TLS included, of later ones from
    /// their first byte.
    package var headerTimeoutSeconds = 10
    /// Timeout of a body, from the end of its request's head.
    package var bodyTimeoutSeconds = 20
    /// Timeout of a connection between requests, and of a client that does not read an answer.
    package var idleTimeoutSeconds = 60
    /// Simultaneous connections; further ones wait to be accepted.
    package var maxConnections = 4096
    /// Simultaneous connections of one address, and simultaneous requests of one client of a trusted proxy; further
    /// ones get a 429.
    package var maxConnectionsPerAddress = 1024

    package init() {}

    /// From this number of connections on, those of one address are closed without an answer.
    ///
    /// Connections that wait for their 429 are open too. Without this bound one address could hold all of
    /// `maxConnections` by sending nothing.
    var maxOpenPerAddress: Int {
        let spare = max(0, (maxConnections - maxConnectionsPerAddress) / 2)
        return maxConnectionsPerAddress + min(maxConnectionsPerAddress, spare)
    }
}

/// Counts connections, and those that a limit closed.
package protocol ConnectionCounting: Sendable {
    func connectionOpened()
    func connectionClosed()
    /// - Parameter reason: from a closed list: `slow_headers`, `slow_body`, `slow_reader`,
    ///   `connections_of_address`.
    func countCutOff(_ reason: String)
    /// Counts a request that was rejected before routing: by its head, or because it is not HTTP.
    func countRefusal(status: Int)
}

/// Counts nothing.
package struct UncountedConnections: ConnectionCounting {
    package init() {}
    package func connectionOpened() {}
    package func connectionClosed() {}
    package func countCutOff(_: String) {}
    package func countRefusal(status _: Int) {}
}
