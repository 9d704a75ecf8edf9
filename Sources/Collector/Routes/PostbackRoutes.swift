import EventLog
import Streams

/// Postbacks of SKAdNetwork and AdAttributionKit: from devices, as developers get their copies, and from
/// those who relay them (`?via=relay`). Apple tries again for up to nine days unless it is answered 200.
struct PostbackRoutes: Sendable {
    private enum Framework {
        case skAdNetwork, adAttributionKit
    }

    private static let topic = "postbacks"

    let appender: DurableAppender
    let readers: KeyReaders

    var routes: [CollectorRoute] {
        [
            copies("/.well-known/skadnetwork/report-attribution", .skAdNetwork),
            copies("/.well-known/appattribution/report-attribution", .adAttributionKit),
            network("/v1/postbacks/skadnetwork", .skAdNetwork),
            network("/v1/postbacks/adattributionkit", .adAttributionKit),
        ]
    }

    private func copies(_ path: String, _ framework: Framework) -> CollectorRoute {
        CollectorRoute(.post, path, mediaTypes: ["application/json"]) { request in
            await answer(request, framework, via: .developerCopy)
        }
    }

    private func network(_ path: String, _ framework: Framework) -> CollectorRoute {
        CollectorRoute(.post, path, mediaTypes: ["application/json"]) { request in
            switch request.query["via"] {
            case nil, "device": await answer(request, framework, via: .device)
            case "relay": await answer(request, framework, via: .relay)
            default: .refusal(400, "out_of_range", "via is neither device nor relay")
            }
        }
    }

    private func answer(
        _ request: CollectorRequest, _ framework: Framework, via: PostbackRoute
    ) async -> CollectorResponse {
        let key: [UInt8]
        do throws(Rejection) {
            key = try readers.read { reader throws(Rejection) in
                switch framework {
                case .skAdNetwork: try reader.skAdNetworkKey(request.body)
                case .adAttributionKit: try reader.adAttributionKitKey(request.body)
                }
            }
        } catch {
            return .refusal(error)
        }
        let type =
            framework == .skAdNetwork ? "skadnetwork.postback" : "adattributionkit.postback"
        let event = CloudEvent(type: type, request: request)
        return await appender.answer(
            [
                OutgoingRecord(
                    topic: Self.topic, key: key, headers: event.headers(via: via),
                    value: request.body)
            ], CollectorResponse(status: 200))
    }
}

extension DurableAppender {
    /// The answer once records are durable, or why they are not.
    func answer(
        _ records: [OutgoingRecord], _ response: CollectorResponse
    ) async -> CollectorResponse {
        do throws(AppendRefusal) {
            _ = try await append(records)
            return response
        } catch {
            return .refusal(error)
        }
    }
}
