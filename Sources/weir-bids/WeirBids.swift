import Worker

/// The program `weir-bids`.
@main
enum WeirBids {
    static func main() {
        BidsWorker.start()
    }
}
