import Worker

/// The program `weir-store-notifications`.
@main
enum WeirStoreNotifications {
    static func main() {
        StoreNotificationsWorker.start()
    }
}
