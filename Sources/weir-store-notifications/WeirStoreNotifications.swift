import Engine
import Streams

@main
enum WeirStoreNotifications {
    static func main() {
        StreamWorker<StoreNotificationsFold>.start()
    }
}
