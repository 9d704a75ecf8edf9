/// The types of the topic `store-notifications`.
enum StoreNotificationsEventType: EventType {
    case notificationV2, notificationV1, receipt

    static let byDefault = StoreNotificationsEventType.notificationV2

    var name: StaticString {
        switch self {
        case .notificationV2: "appstore.notification.v2"
        case .notificationV1: "appstore.notification.v1"
        case .receipt: "appstore.receipt"
        }
    }
}
