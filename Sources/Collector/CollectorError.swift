import Monitoring

/// Why the collector does not start.
package enum CollectorError: Error, Equatable, CustomStringConvertible {
    /// The address cannot be listened on; the words say what the system answered.
    case cannotListen(ListenAddress, detail: String)
    /// A certificate or its key cannot be used.
    case badCertificate(file: String, detail: String)

    /// One line: what, where, and what to do.
    package var description: String {
        switch self {
        case .cannotListen(let address, let detail):
            "cannot listen on \(address): \(detail): give another --listen HOST:PORT, port 0 for any free one"
        case .badCertificate(let file, let detail):
            "\(file) is of no use for TLS: \(detail): give PEM files of a certificate chain and of its key"
        }
    }
}
