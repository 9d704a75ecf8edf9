import CCurl
import Foundation
import NIOPosix
import Synchronization

/// Sends requests over HTTP/1.1 on its own thread and resolves names on others. A name is resolved once, its
/// addresses are checked, and the connection goes to a checked address; the name stays in the request and in the
/// certificate check. Redirects are not followed.
package final class HTTPSender: Sendable {
    private let threads: NIOThreadPool
    private let inbox = SendingInbox()
    private let ended = DispatchGroup()

    /// Starts the threads. The names of `receiverCount` receivers, at most 64, can be resolved at once without waiting
    /// for each other.
    ///
    /// - Parameters:
    ///   - authorities: a PEM file with the accepted authorities; nil for those of the system.
    ///   - idleSeconds: idle connections are closed after this time.
    package init(
        resolver: any HostResolver = SystemResolver(), receiverCount: Int,
        authorities: String? = nil, idleSeconds: Int = 30
    ) {
        let threads = NIOThreadPool(numberOfThreads: min(max(receiverCount, 1), 64))
        threads.start()
        self.threads = threads
        ended.enter()
        Thread.detachNewThread { [inbox, ended] in
            Exchanges(
                inbox: inbox, resolver: resolver, threads: threads, authorities: authorities,
                idleSeconds: idleSeconds
            ).run()
            ended.leave()
        }
    }

    /// Ends the threads and cuts off requests in flight.
    package func stop() {
        inbox.stop()
        ended.wait()
        try? threads.syncShutdownGracefully()
    }

    /// Sends a request and calls back once, on any thread.
    package func send(
        _ request: OutgoingRequest, to destination: Destination,
        completion: @escaping @Sendable (RequestResult) -> Void
    ) {
        let asked = AskedRequest(
            request: request, destination: destination,
            deadline: .now + .milliseconds(destination.timeoutMilliseconds), completion: completion)
        if !inbox.put(.send(asked)) { completion(.ended) }
    }

    /// Sends a request and waits for its result.
    package func result(
        of request: OutgoingRequest, to destination: Destination
    ) -> RequestResult {
        let isEnded = DispatchSemaphore(value: 0)
        let result = EndedResult()
        send(request, to: destination) { ended in
            result.value.withLock { $0 = ended }
            isEnded.signal()
        }
        isEnded.wait()
        return result.value.withLock { $0 }
    }
}

extension RequestResult {
    fileprivate static let ended = RequestResult.failed(
        .connection, detail: "sending has ended")
}

private final class EndedResult: Sendable {
    let value = Mutex<RequestResult>(.ended)
}

private struct AskedRequest: Sendable {
    let request: OutgoingRequest
    let destination: Destination
    let deadline: ContinuousClock.Instant
    let completion: @Sendable (RequestResult) -> Void
}

/// Other threads hand requests and addresses to the sender's thread here.
private final class SendingInbox: Sendable {
    enum Event: Sendable {
        case send(AskedRequest)
        case resolved(host: String, Result<[IPAddress], ResolutionFault>)
    }

    private struct State {
        var events: [Event] = []
        var isStopped = false
        /// The one that the sender's thread waits for.
        var connections: Connections?
    }

    private let state = Mutex(State())

    /// Returns false after `stop`: the event is dropped.
    func put(_ event: Event) -> Bool {
        state.withLock { state in
            guard !state.isStopped else { return false }
            state.events.append(event)
            state.connections?.wake()
            return true
        }
    }

    func stop() {
        state.withLock { state in
            state.isStopped = true
            state.connections?.wake()
        }
    }

    /// Takes all events. They wake the thread that waits for `connections` from now on.
    func take(waking connections: Connections) -> (events: [Event], isStopped: Bool) {
        state.withLock { state in
            state.connections = connections
            defer { state.events = [] }
            return (state.events, state.isStopped)
        }
    }
}

/// The requests in flight, on the sender's thread.
private final class Exchanges {
    private struct Exchange {
        let asked: AskedRequest
        /// Those that are left to try.
        var addresses: ArraySlice<IPAddress> = []
        var transfer: Transfer?
    }

    private struct Endpoint: Hashable {
        let host: String
        let address: IPAddress
    }

    private static let addressesToTry = 3
    private static let transfersPerEndpoint = 64

    private let inbox: SendingInbox
    private let resolver: any HostResolver
    private let threads: NIOThreadPool
    private let authorities: String?
    private let idleSeconds: Int
    private var connections = Connections()
    private var count = 0
    private var exchanges: [Int: Exchange] = [:]
    /// The exchanges that wait for the addresses of a host. They share one lookup.
    private var lookups: [String: [Int]] = [:]
    private var transfers: [UnsafeMutableRawPointer: Int] = [:]
    private var counts: [Endpoint: Int] = [:]
    /// These wait until fewer transfers run to their endpoints.
    private var waiting: [Int] = []
    /// No deadline is earlier.
    private var nextDeadline: ContinuousClock.Instant?
    /// When the last transfer ended, while there may be idle connections.
    private var idleSince: ContinuousClock.Instant?

    init(
        inbox: SendingInbox, resolver: any HostResolver, threads: NIOThreadPool,
        authorities: String?, idleSeconds: Int
    ) {
        self.inbox = inbox
        self.resolver = resolver
        self.threads = threads
        self.authorities = authorities
        self.idleSeconds = idleSeconds
    }

    /// Returns after `SendingInbox.stop`, when all requests have ended.
    func run() {
        while true {
            closeIdle()
            let (events, isStopped) = inbox.take(waking: connections)
            for event in events { take(event) }
            guard !isStopped else { break }
            connections.advance { handle, code in transferEnded(handle, code) }
            endLate()
            connections.wait(until: [nextDeadline, idleEnd].compactMap { $0 }.min())
        }
        for number in exchanges.keys { end(number, .ended) }
    }

    private func take(_ event: SendingInbox.Event) {
        switch event {
        case .send(let asked):
            count += 1
            exchanges[count] = Exchange(asked: asked)
            nextDeadline = min(nextDeadline ?? asked.deadline, asked.deadline)
            resolve(asked.destination.host, for: count)
        case .resolved(let host, let found):
            for number in lookups.removeValue(forKey: host) ?? [] {
                switch found {
                case .success(let addresses): use(addresses, for: number)
                case .failure(let fault):
                    end(number, .failed(.resolution, detail: fault.description))
                }
            }
        }
    }

    private func resolve(_ host: String, for number: Int) {
        if let address = IPAddress(host) { return use([address], for: number) }
        let isRunning = lookups[host] != nil
        lookups[host, default: []].append(number)
        guard !isRunning else { return }
        threads.submit { [inbox, resolver] state in
            // At the end of the sender, nothing waits for the result.
            guard case .active = state else { return }
            let found = Result { () throws(ResolutionFault) in
                try resolver.addresses(of: host)
            }
            _ = inbox.put(.resolved(host: host, found))
        }
    }

    private func use(_ addresses: [IPAddress], for number: Int) {
        guard let destination = exchanges[number]?.asked.destination else { return }
        if let refusal = destination.refusal(of: addresses) {
            return end(number, .addressRefused(detail: refusal))
        }
        exchanges[number]?.addresses = addresses.prefix(Self.addressesToTry)
        connect(number)
    }

    /// Starts the request to the next address.
    private func connect(_ number: Int) {
        guard let exchange = exchanges[number] else { return }
        let host = exchange.asked.destination.host
        guard let address = exchange.addresses.first else {
            return end(number, .failed(.resolution, detail: "\(host): it has no address"))
        }
        let endpoint = Endpoint(host: host, address: address)
        guard counts[endpoint, default: 0] < Self.transfersPerEndpoint else {
            return waiting.append(number)
        }
        do throws(CurlFault) {
            let transfer = try Transfer(
                exchange.asked.request, to: address, authorities: authorities,
                idleSeconds: idleSeconds)
            try connections.add(transfer)
            exchanges[number]?.transfer = transfer
            transfers[transfer.handle] = number
            counts[endpoint, default: 0] += 1
        } catch {
            end(number, .failed(.connection, detail: "\(error)"))
        }
    }

    private func transferEnded(_ handle: UnsafeMutableRawPointer, _ code: CURLcode) {
        guard let number = transfers[handle], let transfer = exchanges[number]?.transfer else {
            return
        }
        let others = exchanges[number]?.addresses.dropFirst() ?? []
        if !transfer.hasAnswer, transfer.neverConnected(code), !others.isEmpty {
            leave(number)
            exchanges[number]?.addresses = others
            connect(number)
        } else {
            end(number, transfer.result(code))
        }
    }

    private func endLate() {
        let now = ContinuousClock.now
        guard let nextDeadline, nextDeadline <= now else { return }
        for (number, exchange) in exchanges where exchange.asked.deadline <= now {
            end(
                number,
                exchange.transfer?.result(nil) ?? .failed(.timeout, detail: "no answer in time"))
        }
        self.nextDeadline = exchanges.values.lazy.map(\.asked.deadline).min()
    }

    private func end(_ number: Int, _ result: RequestResult) {
        leave(number)
        exchanges.removeValue(forKey: number)?.asked.completion(result)
    }

    /// Removes the transfer, and starts those that wait for its endpoint.
    private func leave(_ number: Int) {
        guard let exchange = exchanges[number], let transfer = exchange.transfer,
            let address = exchange.addresses.first
        else { return }
        exchanges[number]?.transfer = nil
        transfers[transfer.handle] = nil
        connections.remove(transfer)
        idleSince = transfers.isEmpty ? .now : nil
        let endpoint = Endpoint(host: exchange.asked.destination.host, address: address)
        let left = counts[endpoint, default: 1] - 1
        counts[endpoint] = left > 0 ? left : nil
        let waiting = waiting
        self.waiting = []
        for number in waiting { connect(number) }
    }

    private var idleEnd: ContinuousClock.Instant? {
        idleSince.map { $0 + .seconds(idleSeconds) }
    }

    /// While requests are sent, libcurl closes connections that were idle for too long. Before `take`, whose events wake
    /// the thread that waits for the new ones.
    private func closeIdle() {
        guard let idleEnd, transfers.isEmpty, idleEnd <= .now else { return }
        idleSince = nil
        connections = Connections()
    }
}
