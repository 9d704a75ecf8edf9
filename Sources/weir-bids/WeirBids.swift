import Streams
import Worker

@main
enum WeirBids {
    static func main() {
        StreamWorker<BidsFold>.start()
    }
}
