import EventLog
import Streams

/// Postbacks of SKAdNetwork and AdAttributionKit: from devices, as copies for developers, and from relays
/// (`?via=relay`). Apple repeats a postback for up to nine days until it gets a 200.
struct PostbackRoutes: Sendable {
    /// The raw value is the type of its records.
    private enum Framework: String {
        case skAdNetwork = "skadnetwork.postback"
        case adAttributionKit = "adattributionkit.postback"
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
            try await answer(request, framework, via: .developerCopy)
        }
    }

    private func network(_ path: String, _ framework: Framework) -> CollectorRoute {
        CollectorRoute(.post, path, mediaTypes: ["application/json"]) { request in
            switch request.query["via"] {
            case nil, "device": try await answer(request, framework, via: .device)
            case "relay": try await answer(request, framework, via: .relay)
            default: .refusal(400, "out_of_range", "via must be device or relay")
            }
        }
    }

    private func answer(
        _ request: CollectorRequest, _ framework: Framework, via: PostbackRoute
    ) async throws -> CollectorResponse {
        let key = try readers.read { reader throws(Rejection) in
            switch framework {
            case .skAdNetwork: try reader.skAdNetworkKey(request.body)
            case .adAttributionKit: try reader.adAttributionKitKey(request.body)
            }
        }
        let event = CloudEvent(type: framework.rawValue, request: request)
        return try await appender.answer(
            [
                OutgoingRecord(
                    topic: Self.topic, key: key, headers: event.headers(via: via),
                    value: request.body)
            ])
    }
}

/// App Store server notifications of versions 1 and 2, at one address. The worker verifies their sender.
struct StoreNotificationRoutes: Sendable {
    private static let topic = "store-notifications"

    let appender: DurableAppender
    let readers: KeyReaders

    var routes: [CollectorRoute] {
        [
            CollectorRoute(
                .post, "/v1/store-notifications", mediaTypes: ["application/json"], answer: answer)
        ]
    }

    @Sendable private func answer(_ request: CollectorRequest) async throws -> CollectorResponse {
        let notification = try readers.read { reader throws(Rejection) in
            try reader.notification(request.body)
        }
        let event = CloudEvent(type: notification.type, request: request)
        return try await appender.answer(
            [
                OutgoingRecord(
                    topic: Self.topic, key: notification.key, headers: event.headers(),
                    value: request.body)
            ])
    }
}
