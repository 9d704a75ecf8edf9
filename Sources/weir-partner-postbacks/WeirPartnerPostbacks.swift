import Deliveries

/// The program `weir-partner-postbacks`.
@main
enum WeirPartnerPostbacks {
    static func main() {
        PartnerPostbacksWorker.start()
    }
}
