/// Bounds that keep one client from taking what is everybody's.
package struct CollectorLimits: Sendable {
    /// Bytes of a request's body; longer ones are 413.
    package var maxBodyBytes = 1 << 20
    /// Bytes of a batch of events, each of which is bounded as a body is.
    package var maxBatchBytes = 8 << 20
    /// Bytes of all headers of a request.
    package var maxHeaderBytes = 32 << 10
    /// Bytes of the bodies of all requests that are being received or answered; beyond them 503. One address
    /// may hold a quarter of it.
    package var maxBodyBytesInFlight = 128 << 20
    /// How long a request's headers may take: the first one's from the connection on, its TLS included, later
    /// ones' from their first byte.
    package var headerTimeoutSeconds: Int64 = 10
    /// How long a body may take, from its request's head on.
    package var bodyTimeoutSeconds: Int64 = 20
    /// How long a connection may rest between requests, and an answer may wait to be read.
    package var idleTimeoutSeconds: Int64 = 60
    /// Connections at once; more of them wait to be accepted.
    package var maxConnections = 4096
    /// Connections at once from one address, and requests at once from one behind a trusted proxy; more
    /// of them are 429.
    package var maxConnectionsPerAddress = 1024
    /// How long requests may take to end once the collector is asked to stop.
    package var drainSeconds: Int64 = 10
    /// What waits for the log.
    package var append = AppendLimits()

    /// The defaults.
    package init() {}
}
