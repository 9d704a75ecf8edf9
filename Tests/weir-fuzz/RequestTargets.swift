import ConversionValues
import Crypto
import EventLog
import Foundation
import HTTPTypes
import Hummingbird
import JSON
import Logging
import Monitoring
import NIOCore
import Streams
import Synchronization
import TestKit

@testable import Collector
@testable import ConfigurationFiles
@testable import Tokens

private let tokenKey = CollectorPipeline.TokenKey(
    id: "k1", secret: Array("0123456789abcdef0123456789abcdef".utf8), file: "token-k1")

/// A token in the form before JWT.
private func oldToken(_ payload: String, use: String) -> String {
    let payload = Base64.url.encode(payload.utf8)
    let signature = TokenKeys.signature(
        of: "weir token 1\n\(use)\n\(tokenKey.id)\n\(payload)",
        by: SymmetricKey(data: tokenKey.secret))
    return "\(tokenKey.id).\(payload).\(signature)"
}

/// `tokens`: the first byte says for which use in the form before JWT, or that it is a JWT, the second and the third
/// which byte is altered; the rest is the payload that is signed.
@Sendable func tokens() throws -> FuzzTarget.Run {
    let keys = TokenKeys([tokenKey])
    return { bytes in
        guard bytes.count > 3 else { return }
        let payload = String(decoding: bytes[3...], as: UTF8.self)
        _ = try same("a token") { try keys.readToken(payload, atMilliseconds: 0) }
        let uses = TokenUse.allCases.map(\.rawValue) + [ReadToken.oldUse]
        let kind = Int(bytes[0]) % (uses.count + 1)
        let use = kind < uses.count ? uses[kind] : nil
        let made: String? =
            if let use { oldToken(payload, use: use) } else { try? keys.sign(payload) }
        guard let text = made else { return }
        var count = 0
        for other in TokenUse.allCases {
            let read = try same("a token") { try keys.read(text, for: other) }
            guard case .success(let token) = read else { continue }
            count += 1
            try require(
                use == nil || other.rawValue == use, "a token of \(use ?? "") is one of \(other)")
            // As long as may be, and longer once its members are written out.
            guard let again = try? keys.sign(token) else { continue }
            try require(try keys.read(again, for: other) == token, "signed again, another token")
        }
        try require(count <= 1, "a token of \(count) uses")
        let read = try same("a token") { try keys.readToken(text, atMilliseconds: 0) }
        if case .success(let token) = read {
            try require(
                use == nil || use == ReadToken.oldUse, "a token of \(use ?? "") opens pages")
            if let again = try? keys.sign(token) {
                try require(
                    try keys.readToken(again, atMilliseconds: 0) == token,
                    "signed again, another token")
            }
        }
        guard bytes[1] != 0 else { return }
        var altered = Array(text.utf8)
        altered[Int(bytes[2]) * altered.count / 256] ^= bytes[1]
        // Where that is no UTF-8, the token is another one all the same.
        let alteredText = String(decoding: altered, as: UTF8.self)
        for other in TokenUse.allCases {
            let fault = try same("an altered token") { try keys.read(alteredText, for: other) }
            guard case .failure = fault else { throw Contradiction("altered, and read") }
        }
        let fault = try same("an altered token") {
            try keys.readToken(alteredText, atMilliseconds: 0)
        }
        guard case .failure = fault else { throw Contradiction("altered, and read") }
    }
}

/// `http`: method and target in the first line, then headers, an empty line, and the body. Where the target ends
/// with `t=IMPRESSION`, `t=CLICK` or `t=NOTICE`, a token comes.
@Sendable func requests() throws -> FuzzTarget.Run {
    let workspace = try RequestWorkspace()
    return { bytes in
        guard let request = workspace.request(bytes) else { return }
        let (first, appended) = try workspace.answer(request)
        let (second, _) = try workspace.answer(request)
        try require(first.status == second.status, "\(first.status), and then \(second.status)")
        try require((200..<600).contains(first.status), "the status \(first.status)")
        // Also where a header of the answer is not valid.
        try require(first.status != 500, String(decoding: first.body, as: UTF8.self))
        if first.status >= 300 {
            let (one, other) = (first.body, second.body)
            try require(
                one == other,
                "\(String(decoding: one, as: UTF8.self)), and then \(String(decoding: other, as: UTF8.self))"
            )
        }
        if first.status >= 400 {
            try require(appended.isEmpty, "\(first.status), and \(appended.count) records")
        }
        for record in appended {
            let types = record.headers.filter { $0.name == "ce_type" }.map(\.value)
            try require(types.count == 1 && record.value != nil, "a record without its envelope")
        }
    }
}

/// A collector without a socket, over a log that keeps the records of the last request.
private struct RequestWorkspace {
    private let log = RecordsInMemory()
    private let responder: RequestResponder
    private let keys = TokenKeys([tokenKey])
    private static let producerKey = "a-key-of-a-producer"

    init() throws {
        var access = CollectorPipeline.Access()
        access.tokenKeys = [tokenKey]
        access.keys = [
            .init(
                name: "producer", digest: Array(SHA256.hash(data: Array(Self.producerKey.utf8))),
                topics: Set(producedStreams.map { $0.streamName }), requestsPerSecond: nil)
        ]
        let rules = CollectorAccess(access, tokenLifetimes: TokenLifetimes())
        let limits = CollectorLimits()
        let appender = try DurableAppender(
            log, limits: limits.append, metrics: .unwatched, logger: .quiet)
        let readers = KeyReaders()
        let posted =
            PostbackRoutes(appender: appender, readers: readers).routes
            + StoreNotificationRoutes(appender: appender, readers: readers).routes
            + EventRoutes(
                appender: appender, readers: readers, access: rules,
                maxBatchBytes: limits.maxBatchBytes
            ).routes
        let fetched =
            NoticeRoutes(appender: appender, readers: readers, access: rules).routes
            + TokenRoutes(appender: appender, readers: readers, access: rules).routes
            + HealthRoutes.routes(unreadiness: { nil }, services: { [] })
            + ConversionRoutes(service: nil, apps: try ConversionApps(shippedPipelines)).routes
        responder = RequestResponder(
            routes: posted + fetched, limits: limits,
            connections: GuardedConnections(limits.connections), metrics: .unwatched)
    }

    /// Nil for what is no request.
    func request(_ bytes: [UInt8]) -> Request? {
        let parts = bytes.split(separator: Array("\n\n".utf8), maxSplits: 1)
        let lines = (parts.first ?? []).split(separator: UInt8(ascii: "\n"))
            .map { String(decoding: $0, as: UTF8.self) }
        let line = (lines.first ?? "").split(separator: " ")
        guard line.count == 2, let method = HTTPRequest.Method(String(line[0])) else { return nil }
        var fields = HTTPFields()
        for header in lines.dropFirst() {
            guard let colon = header.firstIndex(of: ":"),
                let name = HTTPField.Name(String(header[..<colon]))
            else { continue }
            let value = header[header.index(after: colon)...].drop { $0 == " " }
            fields.append(HTTPField(name: name, value: String(value)))
        }
        return Request(
            head: HTTPRequest(
                method: method, scheme: "http", authority: "h", path: withToken(String(line[1])),
                headerFields: fields),
            body: RequestBody(buffer: ByteBuffer(bytes: parts.count == 2 ? Array(parts[1]) : [])))
    }

    private func withToken(_ target: String) -> String {
        for (word, use) in [
            ("t=IMPRESSION", TokenUse.impression), ("t=CLICK", .click), ("t=NOTICE", .notice),
        ] where target.hasSuffix(word) {
            let token = try? EventToken(
                use: use, type: use.types[0],
                event: #"{"impression_id":"i","auction_id":"a","bid_id":"b"}"#,
                openMembers: use.openMembers, target: use == .click ? "https://e.example/" : "",
                expiresAtSeconds: Int64(Date().timeIntervalSince1970) + 60)
            guard let text = token.flatMap({ try? keys.sign($0) }) else { return target }
            return target.dropLast(word.count) + "t=\(text)"
        }
        return target
    }

    func answer(_ request: Request) throws -> (Answer, [OutgoingRecord]) {
        log.records.withLock { $0 = [] }
        let answer = ComingAnswer()
        Task { [responder] in
            do {
                let client = "192.0.2.1"
                let found = try await responder.respond(
                    to: request,
                    context: ServedContext(source: .init(peer: client, client: client)))
                let body = CollectedBody()
                try await found.body.write(body)
                answer.give(
                    .success(
                        Answer(
                            status: found.status.code,
                            body: body.bytes.withLock { $0 })))
            } catch {
                answer.give(.failure(error))
            }
        }
        return (try answer.wait(), log.records.withLock { $0 })
    }
}

private struct Answer: Sendable {
    let status: Int
    let body: [UInt8]
}

/// Keeps the body of an answer.
private final class CollectedBody: ResponseBodyWriter {
    let bytes = Mutex<[UInt8]>([])

    func write(_ buffer: ByteBuffer) async throws {
        bytes.withLock { $0 += buffer.readableBytesView }
    }

    func finish(_: HTTPFields?) async throws {}
}

/// What a task gives to the thread that waits for it.
private final class ComingAnswer: Sendable {
    private let given = Mutex<Result<Answer, any Error>?>(nil)
    private let isGiven = DispatchSemaphore(value: 0)

    func give(_ result: Result<Answer, any Error>) {
        given.withLock { $0 = result }
        isGiven.signal()
    }

    func wait() throws -> Answer {
        isGiven.wait()
        guard let result = given.withLock({ $0 }) else { throw Contradiction("no answer") }
        return try result.get()
    }
}

/// Keeps what is appended, and holds nothing else.
private final class RecordsInMemory: LogBackend, LogWriter, Sendable {
    let records = Mutex<[OutgoingRecord]>([])

    var address: String { "memory" }
    func topics() throws(LogError) -> [TopicDescription] { [] }
    func settings(ofTopic name: String) throws(LogError) -> [String: String]? { nil }
    func createTopic(
        _ name: String, partitionCount: Int32, settings: [String: String]
    ) throws(LogError) -> Bool { false }
    func reader(topic: String, group: String?) throws(LogError) -> any LogReader {
        throw .unknownTopic(topic, address: address)
    }
    func writer() throws(LogError) -> any LogWriter { self }

    func append(
        _ appended: [OutgoingRecord], while _: () -> Bool
    ) throws(LogError) -> [RecordPosition] {
        records.withLock { $0 += appended }
        return appended.indices.map { RecordPosition(partition: 0, offset: Int64($0)) }
    }
}

/// The requests of fixtures.
@Sendable func sentRequests() throws -> [[UInt8]] {
    try Repository.files(in: "Tests/Fixtures/collector", endingIn: ".json").flatMap { file in
        let fixture = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
        let sent = (fixture as? [String: Any])?["requests"] as? [[String: Any]] ?? []
        return try sent.map { request in
            let headers = (request["headers"] as? [String: String] ?? [:]).sorted { $0 < $1 }
                .map { "\($0.key): \($0.value)\n" }.joined()
            let body =
                if let value = request["json"] { try json(value) } else {
                    Array((request["text"] as? String ?? "").utf8)
                }
            let line = "\(request["method"] ?? "") \(request["target"] ?? "")\n"
            return Array((line + headers + "\n").utf8) + body
        }
    }
}
