import Engine
import Streams

@main
enum WeirBids {
    static func main() {
        StreamWorker<BidsFold>.start()
    }
}
