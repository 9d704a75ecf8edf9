import ConfigurationFiles
import EventLog
import Foundation
import HTTPTypes
import HummingbirdCore
import Monitoring
import NIOCore

/// Finds the route of a request and answers it, after the checks that all routes share.
final class RequestResponder: Sendable {
    private let table: RouteTable
    private let limits: CollectorLimits
    private let connections: GuardedConnections
    private let metrics: CollectorMetrics
    private let bodyTotal: BodyTotal

    init(
        routes: [CollectorRoute], limits: CollectorLimits, connections: GuardedConnections,
        metrics: CollectorMetrics
    ) {
        table = RouteTable(routes)
        self.limits = limits
        bodyTotal = BodyTotal(limits)
        self.connections = connections
        self.metrics = metrics
    }

    /// Throws if the body does not arrive.
    func respond(
        to request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel
    ) async throws {
        let begun = ContinuousClock.now
        let (route, response) = try await response(
            to: request, from: channel.remoteAddress?.ipAddress ?? "")
        metrics.count(route: route, status: response.status, took: begun.duration(to: .now))
        var fields = HTTPFields()
        fields[.date] = HTTPDate.now
        fields[.contentLength] = "\(response.body.count)"
        if !response.contentType.isEmpty { fields[.contentType] = response.contentType }
        for (name, value) in response.headers {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        try await writer.write(
            response: HTTPResponse(
                status: HTTPResponse.Status(code: response.status), headerFields: fields),
            body: request.method == .head
                ? ResponseBody() : ResponseBody(byteBuffer: ByteBuffer(bytes: response.body)))
    }

    /// The path of the route, and the answer. `peer` is the address of the connection.
    func response(
        to request: Request, from peer: String
    ) async throws -> (route: String, CollectorResponse) {
        let target = request.head.path ?? ""
        let written = target.prefix { $0 != "?" }
        let path = RouteTable.normalised(written)
        switch table.find(request.method.rawValue, path) {
        case .none: return ("unknown", .refusal(404, "not_found", "there is nothing at this path"))
        case .otherMethod(let allowed):
            var response = CollectorResponse.refusal(
                405, "method_not_allowed", "this path is asked in another way")
            let names = allowed.map(\.rawValue).joined(separator: ", ")
            response.headers.append(("Allow", names))
            return ("unknown", response)
        case .route(let route, let argument):
            let query = target.dropFirst(written.count + 1)
            return (
                route.path,
                try await answer(
                    request, from: peer, by: route, argument, path: path, query: query)
            )
        }
    }

    private func answer(
        _ request: Request, from peer: String, by route: CollectorRoute, _ argument: String,
        path: Substring, query: Substring
    ) async throws -> CollectorResponse {
        guard let query = QueryParameters(query) else {
            return .refusal(400, "malformed_query", "the query is not percent-encoded UTF-8")
        }
        let mediaType = Self.mediaType(request.headers[.contentType])
        if let refusal = refusal(of: request, mediaType, by: route) { return refusal }
        let client = connections.client(of: request, from: peer)
        // The connection guard counts direct connections.
        let isCounted = client != peer
        defer { if isCounted { connections.addresses.leave(client) } }
        if isCounted, connections.addresses.enter(client) != .within {
            return .refusal(
                429, "too_many_requests", "too many requests at once from your address",
                retryAfterSeconds: 1)
        }
        var asked = CollectorRequest(
            path: path.hasSuffix("/") ? String(path.dropLast()) : String(path),
            pathArgument: argument, query: query, headers: request.headers,
            mediaType: mediaType.isEmpty ? route.mediaTypes.first ?? "" : mediaType, body: [],
            clientAddress: client, receivedAtMilliseconds: WallClock.milliseconds)
        if let refusal = route.admission(asked) { return refusal }
        guard !route.mediaTypes.isEmpty else { return await route.response(to: asked) }
        var body = BodyBytes(
            of: client, counted: bodyTotal, maxCount: route.maxBodyBytes ?? limits.maxBodyBytes)
        for try await part in request.body {
            if let refusal = body.append(part) { return refusal }
        }
        asked.body = body.bytes
        return await route.response(to: asked)
    }

    /// The checks before the body is read.
    private func refusal(
        of request: Request, _ mediaType: String, by route: CollectorRoute
    ) -> CollectorResponse? {
        guard !route.mediaTypes.isEmpty else { return nil }
        if let encoding = request.headers[.contentEncoding], encoding.lowercased() != "identity" {
            return .refusal(415, "content_encoding", "send the body without content-encoding")
        }
        if !mediaType.isEmpty, !route.mediaTypes.contains(mediaType) {
            let known = route.mediaTypes.joined(separator: " or ")
            return .refusal(415, "content_type", "send the body as \(known)")
        }
        let maxBytes = route.maxBodyBytes ?? limits.maxBodyBytes
        if let declared = request.head.declaredBodyBytes, declared > maxBytes {
            return BodyBytes.tooLarge(maxBytes)
        }
        return nil
    }
}

// MARK: Headers

extension RequestResponder {
    /// Without parameters, in lower case.
    private static func mediaType(_ contentType: String?) -> String {
        guard let contentType else { return "" }
        return contentType.prefix { $0 != ";" }.trimmed.lowercased()
    }
}
