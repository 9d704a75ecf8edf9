/// Why metrics cannot be served.
package enum MonitoringError: Error, Equatable, CustomStringConvertible {
    /// The address cannot be listened on; the words say what the system answered.
    case cannotListen(ListenAddress, detail: String)

    /// One line: what, where, and what to do.
    package var description: String {
        switch self {
        case .cannotListen(let address, let detail):
            "metrics: cannot listen on \(address): \(detail): give another --metrics HOST:PORT, port 0 for any free one"
        }
    }
}
