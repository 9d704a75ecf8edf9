import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

extension HTTPSender {
    /// Whether nothing of the request can have reached the partner.
    static func neverConnected(_ error: any Error) -> Bool {
        switch error {
        case is NIOConnectionError: true
        case let error as IOError:
            [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH].contains(error.errnoCode)
        case let error as HTTPClientError: error == .connectTimeout
        case ChannelError.connectTimeout: true
        default: false
        }
    }

    /// Whether a certificate of the partner, or its chain, was not accepted.
    static func isUnacceptedCertificate(_ error: any Error) -> Bool {
        guard case NIOSSLError.handshakeFailed = error else { return false }
        return "\(error)".contains("CERTIFICATE_VERIFY_FAILED")
    }

    /// What an error of the client means.
    static func result(of error: any Error) -> AttemptResult {
        switch error {
        case let error as ResolutionFault: .failed(.resolution, detail: error.description)
        case let error as HTTPClientError: .failed(fault(error), detail: words(error))
        case ChannelError.connectTimeout: .failed(.timeout, detail: "no connection in time")
        case let error as IOError:
            .failed(.connection, detail: String(cString: strerror(error.errnoCode)))
        case let error as NIOConnectionError: .failed(.connection, detail: words(error))
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            .failed(.tls, detail: "the certificate is for another name than that of the url")
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            .failed(.tls, detail: tlsWords("\(error)"))
        case is HTTPParserError: .failed(.protocolError, detail: "the answer is no HTTP: \(error)")
        default: .failed(.connection, detail: "\(error)")
        }
    }

    private static func fault(_ error: HTTPClientError) -> ConnectionFault {
        let timeouts: [HTTPClientError] = [
            .deadlineExceeded, .connectTimeout, .readTimeout, .writeTimeout,
            .getConnectionFromPoolTimeout, .tlsHandshakeTimeout,
        ]
        return timeouts.contains(error) ? .timeout : .connection
    }

    private static func words(_ error: HTTPClientError) -> String {
        switch error {
        case .deadlineExceeded: "no answer in time"
        case .connectTimeout, .getConnectionFromPoolTimeout: "no connection in time"
        case .tlsHandshakeTimeout: "no encrypted connection in time"
        case .remoteConnectionClosed: "the connection ended before the answer"
        default: error.description
        }
    }

    /// The library's reason without the places of its source.
    private static func tlsWords(_ text: String) -> String {
        guard let reason = text.firstMatch(of: /OPENSSL_internal:([A-Z_]+)/)?.1 else { return text }
        return reason.split(separator: "_").joined(separator: " ").lowercased()
    }

    private static func words(_ error: NIOConnectionError) -> String {
        guard let first = error.connectionErrors.first?.error as? IOError else { return "\(error)" }
        return String(cString: strerror(first.errnoCode))
    }
}
