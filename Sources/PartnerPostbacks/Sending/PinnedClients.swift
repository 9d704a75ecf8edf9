import AsyncHTTPClient
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A client for each name and address, so that the one leads to the other and nowhere else.
final class PinnedClients: Sendable {
    private struct Key: Hashable {
        var host: String
        var address: IPAddress
    }

    private struct Entry {
        var client: HTTPClient
        var requests: Int
    }

    /// More idle clients than these are shut: names whose addresses change would gather them.
    private static let idleCount = 64

    private let group: MultiThreadedEventLoopGroup
    private let connectSeconds: Int64
    private let tls: TLSConfiguration?
    /// Nil once it has stopped.
    private let entries = Mutex<[Key: Entry]?>([:])

    init(group: MultiThreadedEventLoopGroup, connectSeconds: Int64, tls: TLSConfiguration?) {
        self.group = group
        self.connectSeconds = connectSeconds
        self.tls = tls
    }

    /// The client that connects to this address when it is asked for that name, to be released; nil after
    /// `stop`.
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

    /// A request has ended.
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

    /// Shuts all; requests that are on their way are cut off.
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
