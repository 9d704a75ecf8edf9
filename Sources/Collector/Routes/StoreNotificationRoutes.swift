import EventLog
import Streams

/// Notifications of the App Store, of both versions at one address. Who sent one, the worker judges.
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

    @Sendable private func answer(_ request: CollectorRequest) async -> CollectorResponse {
        let notification: KeyedNotification
        do throws(Rejection) {
            notification = try readers.read { reader throws(Rejection) in
                try reader.notification(request.body)
            }
        } catch {
            return .refusal(error)
        }
        let event = CloudEvent(type: notification.type, request: request)
        return await appender.answer(
            [
                OutgoingRecord(
                    topic: Self.topic, key: notification.key, headers: event.headers(),
                    value: request.body)
            ], CollectorResponse(status: 200))
    }
}
