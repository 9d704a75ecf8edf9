import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

package protocol PartnerSender: Sendable {
    /// Sends a request and calls back once, on any thread.
    func send(
        _ request: PartnerRequest, to destination: Destination,
        completion: @escaping @Sendable (AttemptResult) -> Void)
}

/// Sends requests over HTTP/1.1 on its own thread and resolves names on others. A name is resolved once, its
/// addresses are checked, and the connection goes to a checked address; the name stays in the request and in the
/// certificate check. Redirects are not followed.
final class HTTPSender: PartnerSender {
    /// After this time the next address of the name is tried.
    private static let connectSeconds: Int64 = 5
    private static let addressesToTry = 3

    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let threads: NIOThreadPool
    private let resolver: any HostResolver
    private let clients: PinnedClients
    private let lookups = Mutex<[String: EventLoopFuture<[IPAddress]>]>([:])

    /// Starts the threads. The names of `partnerCount` partners, at most 64, can be resolved at once without waiting
    /// for each other.
    ///
    /// - Parameter tls: how certificates are checked; nil means by the authorities of the system.
    init(
        resolver: any HostResolver = SystemResolver(), partnerCount: Int,
        tls: TLSConfiguration? = nil
    ) {
        self.resolver = resolver
        threads = NIOThreadPool(numberOfThreads: min(max(partnerCount, 1), 64))
        threads.start()
        clients = PinnedClients(group: group, connectSeconds: Self.connectSeconds, tls: tls)
    }

    /// Ends the threads and cuts off requests in flight.
    func stop() {
        clients.stop()
        try? threads.syncShutdownGracefully()
        try? group.syncShutdownGracefully()
    }

    func send(
        _ request: PartnerRequest, to destination: Destination,
        completion: @escaping @Sendable (AttemptResult) -> Void
    ) {
        let deadline = NIODeadline.now() + .milliseconds(destination.timeoutMilliseconds)
        addresses(of: destination.host, deadline: deadline).whenComplete { found in
            switch found {
            case .failure(let error):
                completion(Self.result(of: error))
            case .success(let addresses):
                if let refusal = destination.refusal(of: addresses) {
                    return completion(.addressRefused(detail: refusal))
                }
                self.send(
                    request, host: destination.host,
                    to: addresses.prefix(Self.addressesToTry)[...], deadline, completion)
            }
        }
    }

    private func send(
        _ request: PartnerRequest, host: String, to addresses: ArraySlice<IPAddress>,
        _ deadline: NIODeadline, _ completion: @escaping @Sendable (AttemptResult) -> Void
    ) {
        guard let address = addresses.first else {
            return completion(.failed(.resolution, detail: "\(host): it has no address"))
        }
        let reading = AnswerReading()
        let answer: EventLoopFuture<AttemptResult>
        let port: Int
        do {
            guard let client = clients.client(for: host, at: address) else {
                return completion(.failed(.connection, detail: "delivering has ended"))
            }
            let request = try HTTPClient.Request(request)
            port = request.port
            answer =
                client.execute(
                    request: request,
                    delegate: reading, eventLoop: .delegateAndChannel(on: group.next()),
                    deadline: deadline
                ).futureResult
        } catch {
            return completion(Self.result(of: error))
        }
        answer.whenComplete { [clients, group] ended in
            clients.release(host, at: address)
            switch ended {
            case .success(let answer):
                completion(answer)
            case .failure(let error):
                // The status decides, even if the rest of the answer failed.
                if let answer = reading.answer { return completion(answer) }
                let others = addresses.dropFirst()
                if Self.neverConnected(error), !others.isEmpty, NIODeadline.now() < deadline {
                    self.send(request, host: host, to: others, deadline, completion)
                } else if Self.isUnacceptedCertificate(error) {
                    CertificateQuestion(host: host, address: address, port: port)
                        .reason(on: group.next())
                        .whenSuccess { completion(.failed(.tls, detail: $0)) }
                } else {
                    completion(Self.result(of: error))
                }
            }
        }
    }

    /// The addresses of a host. Concurrent callers share one lookup for each host.
    private func addresses(
        of host: String, deadline: NIODeadline
    ) -> EventLoopFuture<[IPAddress]> {
        let loop = group.next()
        if let address = IPAddress(host) { return loop.makeSucceededFuture([address]) }
        let (lookup, isNew) = lookups.withLock { lookups in
            if let running = lookups[host] { return (running, false) }
            let lookup = threads.runIfActive(eventLoop: loop) { [resolver] in
                try resolver.addresses(of: host)
            }
            lookups[host] = lookup
            return (lookup, true)
        }
        if isNew {
            lookup.whenComplete { _ in self.lookups.withLock { $0[host] = nil } }
        }
        let promise = loop.makePromise(of: [IPAddress].self)
        let timer = loop.scheduleTask(deadline: deadline) {
            promise.fail(HTTPClientError.deadlineExceeded)
        }
        lookup.whenComplete { result in
            timer.cancel()
            promise.completeWith(result)
        }
        return promise.futureResult
    }
}

/// Reads the status and discards the body. A short body is read to its end, so that the connection can be reused.
final class AnswerReading: HTTPClientResponseDelegate {
    private struct TooLong: Error {}

    /// A longer body is cut off together with its connection.
    static let bodyBytes = 65_536

    private let state = Mutex<(answer: AttemptResult?, bytes: Int)>((nil, 0))

    func didReceiveHead(
        task: HTTPClient.Task<AttemptResult>, _ head: HTTPResponseHead
    ) -> EventLoopFuture<Void> {
        let pause = head.headers.first(name: "Retry-After").flatMap { text in
            RetryAfter.milliseconds(text, date: head.headers.first(name: "Date"))
        }
        state.withLock {
            $0.answer = .answered(
                status: Int(head.status.code), retryAfterMilliseconds: pause)
        }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(
        task: HTTPClient.Task<AttemptResult>, _ buffer: ByteBuffer
    ) -> EventLoopFuture<Void> {
        let bytes = state.withLock { state in
            state.bytes += buffer.readableBytes
            return state.bytes
        }
        guard bytes <= Self.bodyBytes else {
            return task.eventLoop.makeFailedFuture(TooLong())
        }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didFinishRequest(task: HTTPClient.Task<AttemptResult>) throws -> AttemptResult {
        guard let answer = state.withLock({ $0.answer }) else {
            throw HTTPClientError.remoteConnectionClosed
        }
        return answer
    }

    /// The answer, if its head arrived before the connection failed.
    var answer: AttemptResult? { state.withLock { $0.answer } }
}

extension HTTPClient.Request {
    fileprivate init(_ request: PartnerRequest) throws {
        try self.init(
            url: request.url, method: HTTPMethod(rawValue: request.method),
            headers: HTTPHeaders(request.headers.map { ($0.name, $0.value) }),
            body: request.body.map { .bytes($0) })
    }
}

extension HTTPSender {
    /// Whether no part of the request can have reached the partner.
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

    static func result(of error: any Error) -> AttemptResult {
        switch error {
        case let error as ResolutionFault: .failed(.resolution, detail: error.description)
        case let error as HTTPClientError: .failed(fault(error), detail: explanation(error))
        case ChannelError.connectTimeout: .failed(.timeout, detail: "no connection in time")
        case let error as IOError:
            .failed(.connection, detail: String(cString: strerror(error.errnoCode)))
        case let error as NIOConnectionError: .failed(.connection, detail: explanation(error))
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            .failed(.tls, detail: "the certificate is for another name than the host in the url")
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            .failed(.tls, detail: tlsWords("\(error)"))
        case is HTTPParserError: .failed(.protocolError, detail: "the answer is not HTTP: \(error)")
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

    private static func explanation(_ error: HTTPClientError) -> String {
        switch error {
        case .deadlineExceeded: "no answer in time"
        case .connectTimeout, .getConnectionFromPoolTimeout: "no connection in time"
        case .tlsHandshakeTimeout: "no encrypted connection in time"
        case .remoteConnectionClosed: "the connection ended before the answer"
        default: error.description
        }
    }

    /// The reason without the library's source locations.
    private static func tlsWords(_ text: String) -> String {
        guard let reason = text.firstMatch(of: /OPENSSL_internal:([A-Z_]+)/)?.1 else { return text }
        return reason.split(separator: "_").joined(separator: " ").lowercased()
    }

    private static func explanation(_ error: NIOConnectionError) -> String {
        guard let first = error.connectionErrors.first?.error as? IOError else { return "\(error)" }
        return String(cString: strerror(first.errnoCode))
    }
}

/// One client for each pair of name and address, so that a request for the name cannot go to another address.
final class PinnedClients: Sendable {
    private struct Key: Hashable {
        var host: String
        var address: IPAddress
    }

    private struct Entry {
        var client: HTTPClient
        var requests: Int
    }

    /// Shuts down further idle clients: they would accumulate for a name with changing addresses.
    private static let idleCount = 64

    private let group: MultiThreadedEventLoopGroup
    private let connectSeconds: Int64
    private let tls: TLSConfiguration?
    /// Nil after `stop`.
    private let entries = Mutex<[Key: Entry]?>([:])

    init(group: MultiThreadedEventLoopGroup, connectSeconds: Int64, tls: TLSConfiguration?) {
        self.group = group
        self.connectSeconds = connectSeconds
        self.tls = tls
    }

    /// The client that connects to `address` for requests to `host`; nil after `stop`. The caller releases it.
    func client(for host: String, at address: IPAddress) -> HTTPClient? {
        let key = Key(host: host, address: address)
        return entries.withLock { entries in
            guard entries != nil else { return nil }
            if let client = entries?[key]?.client {
                entries?[key]?.requests += 1
                return client
            }
            let client = make(host, address)
            entries?[key] = Entry(client: client, requests: 1)
            return client
        }
    }

    func release(_ host: String, at address: IPAddress) {
        let idle: HTTPClient? = entries.withLock { entries in
            entries?[Key(host: host, address: address)]?.requests -= 1
            guard let all = entries, all.count > Self.idleCount,
                let key = all.first(where: { $0.value.requests == 0 })?.key
            else { return nil }
            return entries?.removeValue(forKey: key)?.client
        }
        idle?.shutdown { _ in }
    }

    /// Shuts all clients down and cuts off requests in flight.
    func stop() {
        let all = entries.withLock { entries in
            defer { entries = nil }
            return (entries ?? [:]).values.map(\.client)
        }
        for client in all { try? client.syncShutdown() }
    }

    private func make(_ host: String, _ address: IPAddress) -> HTTPClient {
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls,
            redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(connectSeconds)))
        configuration.dnsOverride = [host: address.description]
        configuration.httpVersion = .http1Only
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        configuration.connectionPool.idleTimeout = .seconds(30)
        return HTTPClient(
            eventLoopGroupProvider: .shared(group), configuration: configuration)
    }
}
