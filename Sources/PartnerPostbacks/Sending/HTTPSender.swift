import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// Sends requests over HTTP/1.1, on one thread of its own, and resolves names on others. A connection goes
/// to the very address that was looked at: the name is asked for once, and its answer is what is connected
/// to, while the name stays in the request and in the certificate. Redirects are not followed.
final class HTTPSender: PartnerSender {
    /// A connection that is not there by then is tried at the name's next address.
    private static let connectSeconds: Int64 = 5
    /// So many addresses of a name are tried.
    private static let addressesToTry = 3

    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let threads: NIOThreadPool
    private let resolver: any HostResolver
    private let clients: PinnedClients
    private let lookups = Mutex<[String: EventLoopFuture<[IPAddress]>]>([:])

    /// Starts its threads; names of so many partners can be asked for at once without waiting for each other.
    ///
    /// - Parameter tls: how certificates are judged; nil: by the system's authorities.
    init(
        resolver: any HostResolver = SystemResolver(), partnerCount: Int,
        tls: TLSConfiguration? = nil
    ) {
        self.resolver = resolver
        threads = NIOThreadPool(numberOfThreads: min(max(partnerCount, 1), 64))
        threads.start()
        clients = PinnedClients(group: group, connectSeconds: Self.connectSeconds, tls: tls)
    }

    /// Ends its threads; requests that are on their way are cut off.
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
        let answer: EventLoopFuture<Answer>
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
                completion(answer.result)
            case .failure(let error):
                // The status is what counts, whatever became of the rest.
                if let answer = reading.answer { return completion(answer.result) }
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

    /// The addresses of a host; one question at a time for each, which all who ask meanwhile share.
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

extension Answer {
    fileprivate var result: AttemptResult {
        .answered(status: status, retryAfterMilliseconds: retryAfterMilliseconds)
    }
}

extension HTTPClient.Request {
    fileprivate init(_ request: PartnerRequest) throws {
        try self.init(
            url: request.url, method: HTTPMethod(rawValue: request.method),
            headers: HTTPHeaders(request.headers.map { ($0.name, $0.value) }),
            body: request.body.map { .bytes($0) })
    }
}
