/// Bounds of the connections to a server, so that no client takes what all share.
package struct ConnectionLimits: Equatable, Sendable {
    /// Bytes of a request's line and headers.
    package var maxHeaderBytes = 32 << 10
    /// How long a request's headers may take: those of the first request from the connection on,
    /// TLS included, later ones from their first byte.
    package var headerTimeoutSeconds = 10
    /// How long a body may take, from the end of its request's head.
    package var bodyTimeoutSeconds = 20
    /// How long a connection may rest between requests, and how long a client may leave an answer
    /// unread.
    package var idleTimeoutSeconds = 60
    /// Connections at once; further ones wait to be accepted.
    package var maxConnections = 4096
    /// Connections at once from one address, and requests at once from one client of a trusted
    /// proxy; further ones are answered 429.
    package var maxConnectionsPerAddress = 1024

    package init() {}

    /// From this number of connections on, those of one address are closed without an answer.
    ///
    /// Connections that wait for their 429 are open too. Without this bound one address could hold
    /// all of `maxConnections` by sending nothing.
    var maxOpenPerAddress: Int {
        let spare = max(0, (maxConnections - maxConnectionsPerAddress) / 2)
        return maxConnectionsPerAddress + min(maxConnectionsPerAddress, spare)
    }
}

/// Counts connections, and those that a limit ended.
package protocol ConnectionCounting: Sendable {
    func connectionOpened()
    func connectionClosed()
    /// - Parameter reason: from a closed list: `slow_headers`, `slow_body`, `slow_reader`,
    ///   `connections_of_address`.
    func countCutOff(_ reason: String)
    /// A request that was refused by its head alone, before any route was looked for.
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
