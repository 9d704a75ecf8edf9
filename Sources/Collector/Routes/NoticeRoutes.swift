import EventLog
import Streams

/// Win, billing and loss notices as exchanges send them: by GET, OpenRTB's macros in the query substituted.
struct NoticeRoutes: Sendable {
    private static let topic = "bids"

    let appender: DurableAppender
    let readers: KeyReaders
    let access: CollectorAccess

    var routes: [CollectorRoute] {
        ["win", "billing", "loss"].map { kind in
            CollectorRoute(.get, "/v1/notices/\(kind)") { request in
                await answer(request, type: "openrtb.\(kind)")
            }
        }
    }

    private func answer(_ request: CollectorRequest, type: String) async -> CollectorResponse {
        if request.query["t"] == nil, let refusal = refusalWithoutToken(request) { return refusal }
        do throws(Rejection) {
            var notice = try Notice(request.query)
            if let fault = try addToken(request, type: type, to: &notice) {
                return .refusal(fault)
            }
            let value = try notice.value(type: type)
            let events = try readers.read { reader throws(Rejection) in
                try reader.events(value, topic: .bids, type: type)
            }
            let records = events.map { event in
                OutgoingRecord(
                    topic: Self.topic, key: event.key,
                    headers: CloudEvent(type: type, request: request).headers(), value: value)
            }
            return await appender.answer(records, CollectorResponse(status: 200))
        } catch {
            return .refusal(error)
        }
    }

    /// Why a request without a token is not taken; nil when it has a producer's key, or needs nothing.
    private func refusalWithoutToken(_ request: CollectorRequest) -> CollectorResponse? {
        if request.header("authorization") != nil {
            return access.rules.producers.refusal(of: request, topic: .bids)
        }
        guard access.rules.requiresNoticeTokens else { return nil }
        return .refusal(
            403, "no_token", "a notice needs a token, the parameter t, or a producer's key")
    }

    /// Has the query's token say what it says, whatever the query says; tells what is wrong with it.
    private func addToken(
        _ request: CollectorRequest, type: String, to notice: inout Notice
    ) throws(Rejection) -> TokenFault? {
        guard let text = request.query["t"] else { return nil }
        let token: EventToken
        do throws(TokenFault) {
            token = try access.rules.keys.read(
                text, for: .notice, atMilliseconds: request.receivedAtMilliseconds)
        } catch {
            return error
        }
        guard token.type == type else {
            return .bad("the token is for \(token.type), and this notice is \(type)")
        }
        let members = try readers.read { reader throws(Rejection) in
            try reader.read(Array(token.event.utf8)) { event throws(Rejection) in
                Notice.members(of: event)
            }
        }
        notice.override(with: members)
        return nil
    }
}
