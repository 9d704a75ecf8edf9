import Deliveries

@main
enum WeirPartnerPostbacks {
    static func main() {
        PartnerPostbacksWorker.start()
    }
}
