import Streams
import Worker

@main
enum WeirStoreNotifications {
    static func main() {
        StreamWorker<StoreNotificationsFold>.start()
    }
}
